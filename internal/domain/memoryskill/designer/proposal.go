package designer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// Actions of a proposal.
const (
	ApplyChanges = "apply_changes"
	NoChange     = "no_change"
)

// Actions of a change.
const (
	AddNew         = "add_new"
	RefineExisting = "refine_existing"
)

// Proposal is the reply of a designer round.
type Proposal struct {
	Action  string   `json:"action"` // ApplyChanges or NoChange
	Summary string   `json:"summary"`
	Changes []Change `json:"changes,omitempty"`
}

// Change adds or refines a skill.
type Change struct {
	Action  string             `json:"action"`            // AddNew or RefineExisting
	Skill   *memoryskill.Skill `json:"skill,omitempty"`   // the new skill
	Name    string             `json:"name,omitempty"`    // name of the skill to refine
	Changes *Refinement        `json:"changes,omitempty"` // its new texts
	Reason  string             `json:"reasoning,omitempty"`
}

// Refinement holds the new texts of a skill. Absent members are unchanged. The name, action and
// statistics of a skill cannot be changed.
type Refinement struct {
	Title       *string   `json:"title,omitempty"`
	Description *string   `json:"description,omitempty"`
	Purpose     *string   `json:"purpose,omitempty"`
	WhenToUse   *[]string `json:"when_to_use,omitempty"`
	HowToApply  *[]string `json:"how_to_apply,omitempty"`
	Constraints *[]string `json:"constraints,omitempty"`
}

// apply returns the skill with the refinement applied.
func (r Refinement) apply(s memoryskill.Skill) memoryskill.Skill {
	set(&s.Title, r.Title)
	set(&s.Description, r.Description)
	set(&s.Purpose, r.Purpose)
	set(&s.WhenToUse, r.WhenToUse)
	set(&s.HowToApply, r.HowToApply)
	set(&s.Constraints, r.Constraints)
	return s
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// Decode decodes a proposal. An unknown key is an error, so that an attempt to set an action or
// statistics is detected.
func Decode(reply []byte) (Proposal, error) {
	var p Proposal
	decoder := json.NewDecoder(bytes.NewReader(reply))
	decoder.DisallowUnknownFields()
	const hint = "send one JSON object with action, summary and changes; a refinement can change title, " +
		"description, purpose, when_to_use, how_to_apply and constraints"
	if err := decoder.Decode(&p); err != nil {
		return Proposal{}, fault.Wrap(err, fault.ModelInvalid, "invalid proposal", hint)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Proposal{}, fault.New(fault.ModelInvalid, "unexpected text after the proposal", hint)
	}
	return p, nil
}
