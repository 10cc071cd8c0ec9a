package modelcall

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// Verdict is the decision of the ledger about a request.
type Verdict string

const (
	Send       Verdict = "send"        // lease acquired: send Admission.Request
	Stored     Verdict = "stored"      // reply exists: Admission.Reply
	Busy       Verdict = "busy"        // another attempt holds a live lease
	Full       Verdict = "full"        // the run has reached its limit of calls in flight
	OverBudget Verdict = "over_budget" // the daily budget of the workspace is used up
)

// Request is a call that a caller wants to make.
type Request struct {
	Asked    llm.Request
	Key      run.CallKey
	Holder   run.Holder
	Lease    time.Duration
	Request  llm.PreparedRequest
	SHA      [sha256.Size]byte
	Reserve  int64 // tokens reserved from the daily budget until the reply is stored
	Micros   int64 // maximum cost in micro-dollars, 0 if the price is unknown; no limit of cost refuses 0
	Parallel int   // limit of this run's calls in flight, 0 for none
	// Cap limits the cost of all workspaces in a UTC day; 0 and settings.Unlimited are no limit.
	Cap settings.Spend
	// Emit receives the parts of a streamed reply. Nothing may depend on them: another attempt can give
	// other text. nil means that the reply is not streamed.
	Emit func(text string)
}

// Admission is the response of the ledger to a Request.
type Admission struct {
	Verdict Verdict
	Request llm.PreparedRequest // request to send: the stored one, if it exists
	Reply   llm.Reply           // with Stored
	Attempt int                 // with Send: number of this attempt at the call, from 1
	Wait    time.Duration       // with Busy: time until the other lease expires
	Reason  string              // with OverBudget: the limit, what was used of it and how to raise it
}

// Failed is a request without a reply.
type Failed struct {
	Class   string
	Message string
	Unknown bool          // the endpoint may have processed the request
	Status  int           // HTTP status, 0 without a response
	RetryIn time.Duration // when the call is sent again; 0 if it is not
}

// ErrReplyExists means that another attempt has stored a reply first.
var ErrReplyExists = errors.New("another attempt has stored a reply")

// minPart is the length in bytes from which an element of a request becomes a part. A row of its own is
// not worth less.
const minPart = 128

// Divided is a request in pieces. Between Pieces[i] and Pieces[i+1] is Parts[i].
type Divided struct {
	Pieces []string
	Parts  []string
	Shared []bool // parts that requests of other conversations have, too
}

// Divide makes parts of the messages of a request and of its other members, if they are long enough. If
// constant is set, the system message and the schema of the reply are shared. A body that is not a JSON object
// has one piece.
func Divide(body []byte, constant bool) Divided {
	out := Divided{}
	d := json.NewDecoder(bytes.NewReader(body))
	at := 0
	err := eachElement(d, func(member string, raw json.RawMessage) {
		if len(raw) < minPart {
			return
		}
		end := int(d.InputOffset())
		out.Pieces = append(out.Pieces, string(body[at:end-len(raw)]))
		out.Parts = append(out.Parts, string(raw))
		out.Shared = append(out.Shared, constant && (member == "response_format" || isSystem(member, raw)))
		at = end
	})
	if err != nil {
		return Divided{Pieces: []string{string(body)}}
	}
	out.Pieces = append(out.Pieces, string(body[at:]))
	return out
}

// isSystem reports whether an element is a system message.
func isSystem(member string, raw json.RawMessage) bool {
	var message struct{ Role string }
	return member == "messages" && json.Unmarshal(raw, &message) == nil && message.Role == "system"
}

// SHAs returns the SHA-256 of each part.
func (d Divided) SHAs() [][]byte {
	out := make([][]byte, len(d.Parts))
	for i, part := range d.Parts {
		sum := sha256.Sum256([]byte(part))
		out[i] = sum[:]
	}
	return out
}

var errNoObject = errors.New("not an object with a list of messages")

// eachElement calls fn with each member of an object, and with each element of its member "messages", with the
// name of the member.
// After each call, the decoder is at the end of the element.
func eachElement(d *json.Decoder, fn func(string, json.RawMessage)) error {
	if err := open(d, '{'); err != nil {
		return err
	}
	next := func(member string) error {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		fn(member, raw)
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		member, _ := key.(string) // it is a string
		if member != "messages" {
			if err := next(member); err != nil {
				return err
			}
			continue
		}
		if err := open(d, '['); err != nil {
			return err
		}
		for d.More() {
			if err := next(member); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func open(d *json.Decoder, delim json.Delim) error {
	t, err := d.Token()
	if err == nil && t != delim {
		return errNoObject
	}
	return err
}
