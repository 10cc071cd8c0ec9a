package offline

import (
	"math"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
)

// An answerer says what the view shows for a property: a scalar, a list, or
// []*view for a list of objects. nil means that it shows nothing.
type answerer func(v *view, property string) any

// rows is the table of fill. Property names that mean the same share a row.
var rows = []row{
	{"tasks", func(v *view, _ string) any { return v.topics() }},
	{"task_name title", func(v *view, _ string) any { return notice.Title(v.learn().theme) }},
	{"message_indices", func(v *view, _ string) any { return v.ranges() }},
	{"reasoning", func(v *view, _ string) any { return v.say("shared", v.series(v.keyWords(4))) }},
	{"reason", reason},
	{"query", query},
	{"action", action},
	{"target", whenKept(target)},
	{"name", whenKept(name)},
	{"description", whenKept(description)},
	{"trigger triggers tags", whenKept(func(v *view) any { return v.merged(v.triggers(), v.old().Trigger) })},
	{"procedure steps", whenKept(func(v *view) any { return v.procedure() })},
	{"experience lessons", whenKept(func(v *view) any { return v.merged(v.lessons(), v.old().Experience) })},
	{"preference preferences", whenKept(func(v *view) any { return v.merged(texts(v.learn().wishes), v.old().Preference) })},
	{"examples", whenKept(func(v *view) any { return v.merged(v.skeletons(), v.old().Examples) })},
	{"tools", whenKept(func(v *view) any { return v.merged(v.toolNames(), v.old().Tools) })},
	{"scripts", whenKept(func(v *view) any { return v.planned(v.scriptPlans()) })},
	{"others references", whenKept(func(v *view) any { return v.planned(v.docPlans()) })},
	{"evidence", whenKept(func(v *view) any { return v.evidence() })},
	{"confidence", whenKept(func(v *view) any { return v.confidence() })},
	{"files", func(v *view, _ string) any { return v.planned(v.material.Files) }},
	{"file purpose inputs outputs", func(v *view, property string) any {
		return map[string]any{"file": v.file.File, "purpose": v.file.Purpose, "inputs": v.file.Inputs, "outputs": v.file.Outputs}[property]
	}},
	{"code", func(v *view, _ string) any { return v.code() }},
	{"markdown", markdown},
	{"answer text", func(v *view, _ string) any { return v.answer() }},
}

var answerers = index(rows)

type row struct {
	properties string // separated by spaces
	answerer
}

func index(rows []row) map[string]answerer {
	out := map[string]answerer{}
	for _, r := range rows {
		for _, property := range strings.Fields(r.properties) {
			out[property] = r.answerer
		}
	}
	return out
}

// whenKept answers only when there is something to keep.
func whenKept(answer func(*view) any) answerer {
	return func(v *view, _ string) any {
		if !v.learn().kept {
			return nil
		}
		return answer(v)
	}
}

func action(v *view, _ string) any {
	switch {
	case !v.learn().kept:
		return "skip"
	case v.learn().match != nil:
		return "update"
	}
	return "create"
}

func target(v *view) any {
	if match := v.learn().match; match != nil {
		return match.Handle
	}
	return nil
}

func name(v *view) any {
	if match := v.learn().match; match != nil {
		return match.Name
	}
	words := slices.DeleteFunc(slices.Clone(v.learn().theme), notice.Joins)
	return strings.ToLower(strings.Join(words, "-"))
}

func description(v *view) any {
	if v.old().Description != "" {
		return nil // unchanged
	}
	text := v.say("describe", strings.Join(v.learn().theme, " "))
	main, _ := v.mainCall()
	var helpers []string
	for _, c := range v.distinctCalls() {
		if !c.Changes() || c.Tool == main.Tool {
			helpers = append(helpers, "`"+c.Tool+"`")
		}
	}
	if len(helpers) > 0 {
		text += v.say("by", v.series(helpers))
	} else if keys := v.keyWords(4); len(keys) > 0 {
		text += v.say("about", v.series(keys))
	}
	if asks := v.learn().asks; len(asks) > 0 {
		text += v.say("used", v.series(asks[:min(2, len(asks))]))
	}
	return text + v.say("stop")
}

func (v *view) triggers() []string {
	return append([]string{strings.Join(v.learn().theme, " ")}, v.learn().asks...)
}

func query(v *view, _ string) any {
	if asked := questions(v); len(asked) > 0 {
		return asked[0]
	}
	text := v.say("wants", strings.Join(v.learn().theme, " "))
	if keys := v.keyWords(4); len(keys) > 0 {
		text += v.say("concerning", v.series(keys))
	}
	return text + v.say("stop")
}

func reason(v *view, _ string) any {
	if !v.learn().kept {
		return v.say("none")
	}
	text := v.say("summary", len(v.learn().steps), len(v.lessons()), len(v.learn().wishes), len(v.raw))
	if match := v.learn().match; match != nil {
		text += v.say("fits", match.Handle)
	}
	return text
}

func markdown(v *view, _ string) any {
	part := *v
	if len(v.material.Files) > 0 {
		part.file = v.material.Files[0]
	}
	return part.markdown()
}

func (v *view) toolNames() []string {
	var out []string
	for _, c := range v.distinctCalls() {
		out = append(out, c.Tool)
	}
	return out
}

// evidence lists the messages that the fields rest on.
func (v *view) evidence() []any {
	found := map[int]bool{}
	for _, c := range v.calls {
		found[c.Index] = true
	}
	for _, s := range slices.Concat(v.learn().rules, v.learn().wishes) {
		found[s.Index] = true
	}
	for _, s := range v.sentences {
		if len(v.calls) == 0 && s.Role != "system" && (s.Imperative || s.Ordered || s.Lesson) {
			found[s.Index] = true
		}
	}
	var out []any
	for _, m := range v.raw {
		if found[m.Index] {
			out = append(out, m.Index)
		}
	}
	return out
}

// confidence grows with the steps and with a main notice.Call that succeeded.
func (v *view) confidence() float64 {
	score := 0.4 + 0.05*float64(min(len(v.learn().steps), 5))
	main, _ := v.mainCall()
	if slices.ContainsFunc(v.calls, func(c notice.Call) bool { return c.Tool == main.Tool && c.Answered && !c.Failed }) {
		score += 0.2
	}
	return math.Round(score*100) / 100
}
