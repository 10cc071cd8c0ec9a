package executor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/memoryskill"
)

// Outcome is what became of an action, or of a reply.
type Outcome string

const (
	OK         Outcome = "ok"
	NoOp       Outcome = "noop"         // nothing to do, said or unsaid: no failure
	ParseError Outcome = "parse_error"  // a part is missing or too long
	LLMError   Outcome = "llm_error"    // no reply came
	Disallowed Outcome = "disallowed"   // no chosen skill is for such an action
	OutOfRange Outcome = "out_of_range" // names a memory that was not shown
	Superseded Outcome = "superseded"   // another action of the reply stands in its place
	Duplicate  Outcome = "duplicate"    // a memory says it already
	Refused    Outcome = "refused"      // the store would not take it
)

// ContentRunes bounds what one memory says. Longer text is refused, for a cut one
// would say something else.
const ContentRunes = 2000

// Action is one change that a model asks for.
type Action struct {
	Type     memoryskill.Action `json:"type"`
	Target   string             `json:"target,omitempty"` // handle of the memory to change
	Content  string             `json:"content,omitempty"`
	About    string             `json:"about,omitempty"`       // who or what an insert is about
	Kind     string             `json:"memory_type,omitempty"` // personal or procedural
	Evidence []int              `json:"evidence,omitempty"`    // indices of messages
	Skill    string             `json:"skill,omitempty"`       // that the model says it follows
}

// ResolvedAction is an action with what is to become of it.
type ResolvedAction struct {
	Action
	Outcome Outcome `json:"outcome"` // OK means to be carried out
	Memory  string  `json:"memory_id,omitempty"`
	Note    string  `json:"note,omitempty"`
}

// SelectedSkill is a skill that was selected for the span.
type SelectedSkill struct {
	Name   string
	Action memoryskill.Action
}

// Resolve decides which actions are carried out. handles leads from the short
// names of the memories that were shown to their ids. Deleting a memory beats
// changing it, the last change of several wins, and two equal inserts are one.
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

// Merge settles what several plans, of spans that were shown the same memories,
// want of one memory: in the order of the spans, as Resolve does within one.
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
			r.Outcome, r.Note = Superseded, "the memory is deleted"
		}
	}
}

// claim lets one action have a place: the last one, or the first.
func claim(places map[string]*ResolvedAction, place string, r *ResolvedAction, last bool) {
	loser := r
	if earlier := places[place]; earlier == nil {
		places[place] = r
		return
	} else if last {
		places[place], loser = r, earlier
	}
	loser.Outcome, loser.Note = Superseded, "another action has its place"
}

// follows is the skill that an action is laid to: the one that the model names,
// when that is for such actions, else the first that is.
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
