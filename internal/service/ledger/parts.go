package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
)

// A conversation repeats its earlier messages and the list of tools in each request. They are stored
// once, as parts. Constant instructions and schemas are stored once in a workspace. A request is stored as
// its pieces: the text before its first part, the text between two parts, and the text after the last one.

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
