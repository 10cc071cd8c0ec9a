package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// CallRecord is one tool call of a run, as the guards see it. A history is the
// records of a run in the order of the calls.
type CallRecord struct {
	Tool       string `json:"tool"`
	ArgsSHA    string `json:"args_sha"`         // ArgsSHA of the arguments
	OutcomeSHA string `json:"outcome_sha"`      // of the result, or Withheld
	Target     string `json:"target,omitempty"` // what it acts on: a skill's name, a memory's id
	Failed     bool   `json:"failed,omitempty"`
}

// Withheld stands for the outcome of a call that the loop guard did not let run.
const Withheld = "withheld"

// Verdict is what the loop guard says of a call before it runs.
type Verdict string

const (
	Allow  Verdict = "allow"
	Repeat Verdict = "repeat" // not run: a synthetic error is its answer, its record is Withheld
	Trip   Verdict = "trip"   // as Repeat, and the run must come to its final answer
)

const (
	repeatAt = 3 // the call, of a row of equal ones, that is no longer run
	tripAt   = 4 // the call that ends the run's freedom
)

// Judge looks at a call against what the run called before: same tool, same
// arguments, same outcome, whatever was called in between. A success that leads
// nowhere is caught as well as a failure.
func Judge(history []CallRecord, tool, argsSHA string) Verdict {
	var outcome string
	same := 0
	for _, r := range history {
		switch {
		case r.Tool != tool || r.ArgsSHA != argsSHA:
		case r.OutcomeSHA == Withheld || same > 0 && r.OutcomeSHA == outcome:
			same++
		default:
			outcome, same = r.OutcomeSHA, 1
		}
	}
	switch {
	case same+1 >= tripAt:
		return Trip
	case same+1 >= repeatAt:
		return Repeat
	}
	return Allow
}

// terminalFailures is how many failures in a row make the last one terminal.
const terminalFailures = 3

// Done tells that the newest failure of tool on target is its third in a row:
// the error then says "stop retrying, answer the user". A success of the same
// tool on the same target begins the row anew, another call does not.
func Done(history []CallRecord, tool, target string) bool {
	row := 0
	for _, r := range history {
		switch {
		case r.Tool != tool || r.Target != target:
		case r.Failed:
			row++
		default:
			row = 0
		}
	}
	return row >= terminalFailures
}

// ArgsSHA is the hash of a call's canonical arguments, in hex.
func ArgsSHA(arguments []byte) string {
	sum := sha256.Sum256(Canonical(arguments))
	return hex.EncodeToString(sum[:])
}

// Canonical writes a JSON document with sorted keys and no blanks. Numbers keep
// their spelling, since 1 and 1.0 may differ to a tool. What is not one JSON
// document comes back as it is.
func Canonical(document []byte) []byte {
	if !utf8.Valid(document) {
		return document // decoding would make different broken bytes equal
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return document
	}
	if _, err := decoder.Token(); err != io.EOF {
		return document
	}
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return document
	}
	return bytes.TrimSuffix(canonical.Bytes(), []byte("\n"))
}
