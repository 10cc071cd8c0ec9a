package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// CallRecord is one tool call of a run, as the guards see it. A history holds the records of a run
// in the order of the calls.
type CallRecord struct {
	Tool       string `json:"tool"`
	ArgsSHA    string `json:"args_sha"`         // ArgsSHA of the arguments
	OutcomeSHA string `json:"outcome_sha"`      // of the result, or Withheld
	Target     string `json:"target,omitempty"` // what it acts on, such as a skill's name or a memory's ID
	Failed     bool   `json:"failed,omitempty"`
}

// Withheld is the outcome of a call that the loop guard did not let run.
const Withheld = "withheld"

// Verdict is the decision of the loop guard about a call before it runs.
type Verdict string

const (
	Allow  Verdict = "allow"
	Repeat Verdict = "repeat" // do not run: return a synthetic error and record Withheld
	Trip   Verdict = "trip"   // as Repeat, and demand the final reply of the run
)

const (
	repeatAt = 3 // the equal call, counted from 1, that is not run
	tripAt   = 4 // the equal call that ends the run
)

// Judge compares a call with the earlier calls of the run: same tool, same arguments, same outcome,
// whatever was called in between. It detects repeated successes as well as repeated failures.
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

// terminalFailures is the number of consecutive failures that makes the last one terminal.
const terminalFailures = 3

// Done reports whether the newest failure of tool on target is its third in a row. The error then
// states "stop retrying, answer the user". A success of the same tool on the same target resets the
// count; other calls do not.
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

// ArgsSHA returns the hash of a call's canonical arguments in hex.
func ArgsSHA(arguments []byte) string {
	sum := sha256.Sum256(Canonical(arguments))
	return hex.EncodeToString(sum[:])
}

// Canonical returns a JSON document with sorted keys and without white space. Numbers keep their
// spelling, because 1 and 1.0 can differ for a tool. A text that is not one JSON document is
// returned unchanged.
func Canonical(document []byte) []byte {
	if !utf8.Valid(document) {
		return document // decoding would make different invalid documents equal
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
