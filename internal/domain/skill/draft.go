package skill

import (
	"errors"
	"strings"
)

// Actions of a draft.
const (
	Create = "create"
	Update = "update"
	Skip   = "skip" // there is nothing to learn
)

// Modes of extraction.
const (
	Simple     = "simple" // core fields only; scripts, tools and documents are ignored
	Full       = "full"
	SimpleKeep = "simple+files" // MemOS' simple mode: finished scripts and documents in the same reply
)

// Draft is what a model proposes, brought into one form. The model proposes,
// code disposes: Target is a handle to look up, never a key.
type Draft struct {
	Action      string     `json:"action"`
	Target      string     `json:"target,omitempty"` // the candidate's handle, of an update only
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Trigger     []string   `json:"trigger,omitempty"`
	Procedure   string     `json:"procedure"`
	Experience  []string   `json:"experience,omitempty"`
	Preference  []string   `json:"preference,omitempty"`
	Examples    []string   `json:"examples,omitempty"`
	Tools       []string   `json:"tools,omitempty"`   // as requested; SplitTools tells which were seen
	Scripts     []FilePlan `json:"scripts,omitempty"` // names are not checked yet: see CheckPlan and Attach
	Others      []FilePlan `json:"others,omitempty"`
	Inline      []Entry    `json:"inline,omitempty"`  // short texts that stand in SKILL.md itself
	Removed     []Removal  `json:"removed,omitempty"` // what an update is to drop
	Evidence    []int      `json:"evidence"`          // message numbers of the chunk; all of them when none was cited
	Cited       bool       `json:"cited"`             // whether the model cited evidence
	Confidence  *float64   `json:"confidence,omitempty"`
	UsedHistory bool       `json:"used_history,omitempty"`
	Reason      string     `json:"reason,omitempty"`
}

// FilePlan is a file that a skill is to have. With Code it is already written.
type FilePlan struct {
	File    string `json:"file"`
	Purpose string `json:"purpose"`
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
	Code    string `json:"code,omitempty"`
}

// Removal asks for an item to go. An empty Field means whichever has it.
type Removal struct {
	Field  string `json:"field,omitempty"` // a list of Draft, scripts, others or procedure
	Item   string `json:"item"`
	Reason string `json:"reason,omitempty"`
}

// Complete says what a draft lacks to become a new skill, in words for a
// repair round. An update may leave everything empty, which means unchanged.
func (d Draft) Complete() error {
	var missing []string
	for _, field := range []struct{ name, value string }{{"name", d.Name}, {"description", d.Description},
		{"procedure", d.Procedure}} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if missing == nil {
		return nil
	}
	return errors.New("a new skill needs name, description and procedure; missing: " + strings.Join(missing, ", "))
}

// errDraft joins the faults of a draft into one message.
func errDraft(faults []string) error {
	if faults == nil {
		return nil
	}
	return errors.New("the skill is not usable: " + strings.Join(faults, "; "))
}

// SplitTools tells requested tools that were seen at work from those that are
// only suggested. Names are compared without case.
func SplitTools(requested, seen []string) (verified, suggested []string) {
	known := map[string]bool{}
	for _, name := range seen {
		known[fold(name)] = true
	}
	for _, name := range requested {
		if known[fold(name)] {
			verified = append(verified, name)
		} else {
			suggested = append(suggested, name)
		}
	}
	return verified, suggested
}
