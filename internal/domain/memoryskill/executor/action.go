package executor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/memoryskill"
)

// Outcome is the result of an action, or of a reply.
type Outcome string

const (
	OK         Outcome = "ok"
	NoOp       Outcome = "noop"         // nothing to do; not a failure
	ParseError Outcome = "parse_error"  // a part is missing or too long
	LLMError   Outcome = "llm_error"    // no reply was received
	Disallowed Outcome = "disallowed"   // no chosen skill has this action
	OutOfRange Outcome = "out_of_range" // names a memory that was not shown
	Superseded Outcome = "superseded"   // another action of the reply takes precedence
	Duplicate  Outcome = "duplicate"    // a memory already has this content
	Refused    Outcome = "refused"      // the store rejected it
)

// ContentRunes is the maximum length of a memory. Longer text is rejected, because truncation could
// change its meaning.
const ContentRunes = 2000

// Action is one change that a model requests.
type Action struct {
	Type     memoryskill.Action `json:"type"`
	Target   string             `json:"target,omitempty"` // handle of the memory to change
	Content  string             `json:"content,omitempty"`
	About    string             `json:"about,omitempty"`       // target of an insert
	Kind     string             `json:"memory_type,omitempty"` // personal or procedural
	Evidence []int              `json:"evidence,omitempty"`    // indices of messages
	Skill    string             `json:"skill,omitempty"`       // skill that the model names
}

// ResolvedAction is an action with its outcome.
type ResolvedAction struct {
	Action
	Outcome Outcome `json:"outcome"` // OK means execute it
	Memory  string  `json:"memory_id,omitempty"`
	Note    string  `json:"note,omitempty"`
}

// SelectedSkill is a skill that was selected for the span.
type SelectedSkill struct {
	Name   string
	Action memoryskill.Action
}

// Resolve decides which actions are executed. handles maps the handles of shown memories to their
// IDs. A delete takes precedence over an update, the last of several updates wins, and equal
// inserts are merged.
func Resolve(actions []Action, skills []SelectedSkill, handles map[string]string) []ResolvedAction {
	out := make([]ResolvedAction, len(actions))
	for i, a := range actions {
		r := &out[i]
		r.Action, r.Outcome = a, OK
		r.Skill = follows(a, skills)
		switch {
		case a.Type == memoryskill.Noop:
			r.Outcome = NoOp
		case !slices.ContainsFunc(skills, func(s SelectedSkill) bool { return s.Action == a.Type }):
			r.Outcome = Disallowed
		case a.Type != memoryskill.Insert && handles[a.Target] == "":
			r.Outcome = OutOfRange
		case a.Type != memoryskill.Delete && strings.TrimSpace(a.Content) == "":
			r.Outcome, r.Note = ParseError, "no content"
		case utf8.RuneCountInString(a.Content) > ContentRunes:
			r.Outcome, r.Note = ParseError, "content too long"
		case a.Type != memoryskill.Insert:
			r.Memory = handles[a.Target]
		}
	}
	Merge(out)
	return out
}

// Merge resolves conflicts between the plans of several spans that were shown the same memories. It
// applies the rules of Resolve in the order of the spans.
func Merge(spans ...[]ResolvedAction) {
	deleted := map[string]*ResolvedAction{}
	updated := map[string]*ResolvedAction{}
	inserted := map[string]*ResolvedAction{}
	for _, plan := range spans {
		for i := range plan {
			r := &plan[i]
			if r.Outcome != OK {
				continue
			}
			switch r.Type {
			case memoryskill.Delete:
				claim(deleted, r.Memory, r, false)
			case memoryskill.Update:
				claim(updated, r.Memory, r, true)
			case memoryskill.Insert:
				claim(inserted, strings.ToLower(strings.Join(strings.Fields(r.Content), " ")), r, false)
			}
		}
	}
	for memory, r := range updated {
		if deleted[memory] != nil {
			r.Outcome, r.Note = Superseded, "memory is deleted by another action"
		}
	}
}

// claim assigns a place to one action: to the last one or to the first.
func claim(places map[string]*ResolvedAction, place string, r *ResolvedAction, last bool) {
	loser := r
	if earlier := places[place]; earlier == nil {
		places[place] = r
		return
	} else if last {
		places[place], loser = r, earlier
	}
	loser.Outcome, loser.Note = Superseded, "superseded by another action"
}

// follows returns the skill of an action: the one that the model names, if it has that action, else
// the first that has it.
func follows(a Action, skills []SelectedSkill) string {
	first := ""
	for _, s := range skills {
		if s.Action != a.Type {
			continue
		}
		if s.Name == a.Skill {
			return s.Name
		}
		if first == "" {
			first = s.Name
		}
	}
	return first
}
