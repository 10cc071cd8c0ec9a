package designer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

// What a proposal wants.
const (
	ApplyChanges = "apply_changes"
	NoChange     = "no_change"
)

// What a change does.
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

// Change adds a skill or refines one.
type Change struct {
	Action  string             `json:"action"`            // AddNew or RefineExisting
	Skill   *memoryskill.Skill `json:"skill,omitempty"`   // the new skill
	Name    string             `json:"name,omitempty"`    // of the skill to refine
	Changes *Refinement        `json:"changes,omitempty"` // what becomes of it
	Reason  string             `json:"reasoning,omitempty"`
}

// Refinement is what can be changed of a skill; what is absent stays. A skill's
// name and action are not among it, nor are its statistics.
type Refinement struct {
	Title       *string   `json:"title,omitempty"`
	Description *string   `json:"description,omitempty"`
	Purpose     *string   `json:"purpose,omitempty"`
	WhenToUse   *[]string `json:"when_to_use,omitempty"`
	HowToApply  *[]string `json:"how_to_apply,omitempty"`
	Constraints *[]string `json:"constraints,omitempty"`
}

// of is the skill with the refinement in it.
func (r Refinement) of(s memoryskill.Skill) memoryskill.Skill {
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

// Decode reads a proposal. A key that a proposal does not have is an error, so
// that an attempt to set an action type or statistics cannot pass unseen.
func Decode(reply []byte) (Proposal, error) {
	var p Proposal
	decoder := json.NewDecoder(bytes.NewReader(reply))
	decoder.DisallowUnknownFields()
	const hint = "answer with one JSON object of action, summary and changes; a refinement changes title, " +
		"description, purpose, when_to_use, how_to_apply and constraints"
	if err := decoder.Decode(&p); err != nil {
		return Proposal{}, fault.Wrap(err, fault.ModelInvalid, "the proposal cannot be read", hint)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Proposal{}, fault.New(fault.ModelInvalid, "something follows the proposal", hint)
	}
	return p, nil
}
