package skill

import (
	"errors"
	"strings"
)

// Actions of a draft.
const (
	Create = "create"
	Update = "update"
	Skip   = "skip" // nothing to learn
)

// Modes of extraction.
const (
	Simple     = "simple" // core fields only; scripts, tools and documents are ignored
	Full       = "full"
	SimpleKeep = "simple+files" // the simple mode of MemOS: finished scripts and documents in the same reply
)

// Draft is a normalized proposal of a model. Target is a handle, which code looks up; it is never a
// database key.
type Draft struct {
	Action       string     `json:"action"`
	Target       string     `json:"target,omitempty"` // handle of the candidate, only for an update
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	Trigger      []string   `json:"trigger,omitempty"`
	NotFor       []string   `json:"not_for,omitempty"` // requests that need something else
	Inputs       []Input    `json:"inputs,omitempty"`
	Rules        []Rule     `json:"rules,omitempty"`
	Procedure    string     `json:"procedure"`
	Pitfalls     []Pitfall  `json:"pitfalls,omitempty"`
	Verification []string   `json:"verification,omitempty"`
	Experience   []string   `json:"experience,omitempty"`
	Preference   []string   `json:"preference,omitempty"`
	Examples     []string   `json:"examples,omitempty"`
	Tools        []string   `json:"tools,omitempty"`   // as requested by the model
	Scripts      []FilePlan `json:"scripts,omitempty"` // names are not checked; see CheckPlan and Attach
	Others       []FilePlan `json:"others,omitempty"`
	Inline       []Entry    `json:"inline,omitempty"`  // short texts in SKILL.md itself
	Removed      []Removal  `json:"removed,omitempty"` // items that an update removes
	Evidence     []int      `json:"evidence"`          // messages of the chunk; all if none was cited
	Cited        bool       `json:"cited"`             // whether the model cited evidence
	Confidence   *float64   `json:"confidence,omitempty"`
	UsedHistory  bool       `json:"used_history,omitempty"`
	Reason       string     `json:"reason,omitempty"`

	// Privacy counts the private values and passages that were masked or removed, by kind.
	Privacy map[string]int `json:"privacy,omitempty"`
}

// FilePlan is a planned file of a skill. If Code is set, it is already written.
type FilePlan struct {
	File    string `json:"file"`
	Purpose string `json:"purpose"`
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
	Code    string `json:"code,omitempty"`
}

// Removal removes an item. An empty Field means every field.
type Removal struct {
	Field  string `json:"field,omitempty"` // a list of Draft, scripts, others or procedure
	Item   string `json:"item"`
	Reason string `json:"reason,omitempty"`
}

// Complete returns an error that names the missing fields of a new skill, for a repair round. In an
// update, an empty field means unchanged.
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

// errDraft joins the faults of a draft to one message.
func errDraft(faults []string) error {
	if faults == nil {
		return nil
	}
	return errors.New("the skill is not usable: " + strings.Join(faults, "; "))
}
