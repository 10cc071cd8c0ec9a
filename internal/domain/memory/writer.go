package memory

import (
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
)

// Inspect scans text before it is stored; what names the text in messages. If the text contains a
// secret or an attack, Inspect returns an error. Its findings name rules and lines, never the text.
// Findings that also match honest text are returned in risk, one line each.
func Inspect(what, text string) (risk []string, err error) {
	report := guard.CheckSkill(map[string]string{what: text}, nil)
	if len(report.Secrets) > 0 { // the refusal contains placeholders for the secrets
		return nil, report.Refusal()
	}
	if refusal := fault.From(report.Refusal()); refusal != nil {
		refusal.Message, refusal.Hint = what+" looks like a prompt injection: "+refusal.Message,
			"state the fact, for example \"The user lives in Osaka\", without instructions to the reader"
		return nil, refusal
	}
	return report.Risk, nil
}

// Writer describes the origin of a write and the data that is stored with it.
type Writer struct {
	Origin   string
	Person   bool // a user made or approved the write, which clears the taint
	Tainted  bool
	Run      string // "" outside a run
	Op       string
	Evidence *Evidence
	Vectors  map[string][]float32 // by text; missing vectors are added later
	Space    int16                // of the vectors
	Author   string               // of long-term memories: model@prompt-hash
	Decision string               // memory skill decision that led to the write; may be empty

	// Dated means that named event times are kept, because the prompt has asked for those of the text.
	Dated bool
	// ValidUntil is until when the previous version was valid, if the write ends it.
	ValidUntil *time.Time
}

// Embedded holds vectors of one space.
type Embedded struct {
	Vectors map[string][]float32 // by text
	Space   int16
}

// With returns w with vectors.
func (w Writer) With(e Embedded) Writer {
	w.Vectors, w.Space = e.Vectors, e.Space
	return w
}
