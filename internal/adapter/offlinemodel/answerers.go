package offlinemodel

import (
	"cmp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
)

// An answerer returns the view's value for a property: a scalar, a list, or []*view for a list of
// objects. nil means that the view has none.
type answerer func(v *view) any

// answerers maps the names of properties to their answerers, for fill.
var answerers = map[string]answerer{
	"tasks":           func(v *view) any { return v.topics() },
	"task_name":       func(v *view) any { return memoryrules.Title(v.learn().theme) },
	"message_indices": func(v *view) any { return v.ranges() },
	"outcome":         func(*view) any { return "unknown" },
	"reason":          func(v *view) any { return v.reason() },
	"query":           func(v *view) any { return v.query() },
	"thinking":        func(v *view) any { return v.query() },
	"action":          func(v *view) any { return v.action() },
	"target":          whenKept(func(v *view) any { return v.learn().match.Handle }),
	"name":            whenKept(func(v *view) any { return v.name() }),
	"description":     whenKept(func(v *view) any { return v.description() }),
	"trigger": whenKept(func(v *view) any {
		return v.merged(append([]string{v.learn().theme}, v.learn().asks...), v.learn().match.Trigger)
	}),
	"procedure":  whenKept(func(v *view) any { return rendered(v.procedure()) }),
	"steps":      whenKept(func(v *view) any { return v.stepList() }),
	"experience": whenKept(func(v *view) any { return v.merged(v.lessons(), v.learn().match.Experience) }),
	"not_for":    whenKept(func(v *view) any { return v.otherTasks() }),
	"preference": whenKept(func(v *view) any { return v.merged(texts(v.learn().wishes), v.learn().match.Preference) }),
	"examples":   whenKept(func(v *view) any { return v.merged(v.skeletons(), v.learn().match.Examples) }),
	"tools":      whenKept(func(v *view) any { return v.merged(toolNames(v.learn().work), v.learn().match.Tools) }),
	"scripts":    whenKept(func(v *view) any { return v.planned(v.scriptPlans()) }),
	"others":     whenKept(func(v *view) any { return v.planned(v.docPlans()) }),
	"evidence":   whenKept(func(v *view) any { return v.evidence() }),
	"confidence": whenKept(func(v *view) any { return v.confidence() }),
	"files":      func(v *view) any { return v.planned(v.material.Files) },
	"file":       func(v *view) any { return v.file.File },
	"purpose":    func(v *view) any { return v.file.Purpose },
	"inputs": func(v *view) any {
		if v.file.File != "" {
			return v.file.Inputs
		}
		return whenKept(func(v *view) any { return v.inputs() })(v)
	},
	"rules":        whenKept(func(v *view) any { return v.decisions() }),
	"pitfalls":     whenKept(func(v *view) any { return v.pitfalls() }),
	"verification": whenKept(func(v *view) any { return v.verification() }),
	"outputs":      func(v *view) any { return v.file.Outputs },
	"criteria":     func(v *view) any { return v.criteria() },
	"code":         func(v *view) any { return v.text() },
	"answer":       func(v *view) any { return v.answer() },
}

// whenKept returns an answerer that replies only if there is something to save.
func whenKept(answer answerer) answerer {
	return func(v *view) any {
		if found := answer(v); v.learn().reusable && found != "" {
			return found
		}
		return nil
	}
}

func (v *view) action() string {
	switch {
	case !v.learn().reusable:
		return "skip"
	case v.learn().match.Handle != "":
		return "update"
	}
	return "create"
}

func (v *view) name() string {
	return cmp.Or(v.learn().match.Name, strings.ToLower(
		strings.Join(slices.DeleteFunc(strings.Fields(v.learn().theme), memoryrules.Joins), "-")))
}

// description is empty, which means unchanged, if the candidate to update has one.
func (v *view) description() string {
	if v.learn().match.Description != "" {
		return ""
	}
	s := v.learn()
	means := slices.DeleteFunc(slices.Clone(s.work), func(c memoryrules.Call) bool {
		return c.Changes() && c.Tool != v.main.Tool
	})
	text := v.say("describe", s.theme) + cmp.Or(v.list("by", toolNames(means)), v.about())
	return text + v.list("used", s.asks[:min(2, len(s.asks))]) + v.say("stop")
}

func (v *view) about() string { return v.list("about", v.keyWords(4)) }

func (v *view) query() string {
	return cmp.Or(strings.Join(questions(v), ""), v.say("wants", v.learn().theme)+v.about()+v.say("stop"))
}

func (v *view) reason() string {
	if v.schema != nil && v.schema.Properties["criteria"] != nil { // a judgment
		return v.weak()
	}
	s := v.learn()
	if !s.reusable {
		return v.say("none")
	}
	fits := v.list("fits", memoryrules.Distinct([]string{s.match.Handle}, 1))
	return v.say("summary", len(s.steps), len(v.told()), len(s.wishes), len(v.messages)) + fits
}

// evidence lists the indices of the messages that support the fields.
func (v *view) evidence() []int {
	s := v.learn()
	sentences := slices.Concat(s.instructions, s.warnings, s.rules, s.wishes)
	out := memoryrules.Each(sentences, func(one memoryrules.Sentence) int { return one.Index })
	out = append(out, memoryrules.Each(v.calls, func(c memoryrules.Call) int { return c.Index })...)
	slices.Sort(out)
	return slices.Compact(out)
}

// confidence increases with the number of steps. A failure of the main call lowers it.
func (v *view) confidence() float64 {
	percent := 60 + 5*min(len(v.learn().steps), 5)
	if v.main.Failed {
		percent -= 20
	}
	return float64(percent) / 100
}
