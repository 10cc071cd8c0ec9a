package memoryrules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/prompt"
)

// failure is a hard case in the material of the designer.
type failure struct {
	Handle    string   `json:"handle"`
	Evidence  []string `json:"evidence"`
	Retrieved []string `json:"retrieved"`
	Mechanism string   `json:"mechanism"`
}

func failures(m prompt.Material) (out []failure) {
	_ = json.Unmarshal(m.Cases, &out) // invalid cases are treated as no cases
	return out
}

// causes are the failed mechanisms, in the order of the checks.
var causes = []string{"storage", "retrieval", "quality", "unanswerable"}

// patterns groups cases by the failed mechanism.
func patterns(m prompt.Material) any {
	out := []any{}
	for _, cause := range causes {
		var handles []string
		for _, f := range failures(m) {
			if f.Mechanism == cause {
				handles = append(handles, f.Handle)
			}
		}
		if len(handles) > 0 {
			out = append(out, map[string]any{"pattern_name": cause, "affected_cases": handles, "root_cause": cause,
				"explanation":   fmt.Sprintf("%d of %d cases: %s", len(handles), len(failures(m)), meaning[cause]),
				"potential_fix": fix[cause]})
		}
	}
	return out
}

var (
	meaning = map[string]string{"storage": "what answers them was said and not remembered",
		"retrieval":    "what answers them was remembered and not found",
		"quality":      "what answers them was found and could not be used",
		"unanswerable": "nothing that was said answers them"}
	fix = map[string]string{"storage": "add a skill for this kind of fact",
		"retrieval":    "put the date and the speaker into each item",
		"quality":      "put the date and the speaker into each item",
		"unanswerable": "none"}
)

func recommendations(m prompt.Material) any {
	out := []any{}
	for _, c := range edits(m) {
		target, _ := c["name"].(string)
		out = append(out, map[string]any{"action": c["action"], "target_operation": orNil(target),
			"rationale": c["reasoning"], "priority": "high"})
	}
	return out
}

func changes(m prompt.Material) any {
	out := []any{}
	for _, c := range edits(m) {
		out = append(out, c)
	}
	return out
}

func summary(m prompt.Material) any {
	if m.Cases == nil {
		return nil
	}
	return fmt.Sprintf("%d cases lead to %d edits", len(failures(m)), len(edits(m)))
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// edits returns the edits for the cases, without those that earlier rounds tried in vain: a rule
// for shorter items if there is no room for more, a form that makes items findable, and a skill for
// the kind of fact that was lost most often. The new skill is last if there is no room, else first.
// Each skill has at most one edit.
func edits(m prompt.Material) (out []map[string]any) {
	tried := func(what string) bool {
		return slices.ContainsFunc(m.Failed, func(line string) bool { return strings.Contains(line, what) })
	}
	order := []func(prompt.Material, func(string) bool) map[string]any{capture, form}
	if crowded(m) {
		order = []func(prompt.Material, func(string) bool) map[string]any{shorter, form, capture}
	}
	for _, propose := range order {
		edit := propose(m, tried)
		if edit == nil || len(out) >= m.Limits["max_changes"] || edit["name"] != nil &&
			slices.ContainsFunc(out, func(o map[string]any) bool { return o["name"] == edit["name"] }) {
			continue
		}
		out = append(out, edit)
	}
	return out
}

// capture returns a new skill for the classes of sentences that were lost more often than they were
// found, at most two.
func capture(m prompt.Material, tried func(string) bool) map[string]any {
	lost, known := map[string]float64{}, map[string]float64{}
	n, background := 0.0, 0.0
	for _, f := range failures(m) {
		for _, text := range f.Retrieved {
			background++
			count(known, text)
		}
		if f.Mechanism != "storage" {
			continue
		}
		for _, text := range f.Evidence {
			n++
			count(lost, text)
		}
	}
	if n == 0 {
		return nil
	}
	type odds struct {
		class
		more float64
	}
	var ranked []odds
	for _, c := range classes {
		if c.said == nil {
			continue
		}
		if more := lost[c.name]/n - known[c.name]/max(1, background); lost[c.name] > 0 {
			ranked = append(ranked, odds{c, more})
		}
	}
	slices.SortStableFunc(ranked, func(a, b odds) int { return int(1e6 * (b.more - a.more)) })
	for i, first := range ranked {
		name := "capture_" + first.name
		if tried(name) || slices.ContainsFunc(m.Bank, func(s prompt.MemorySkill) bool {
			return s.Name == name || s.Action == "insert" && wants(s, first.name)
		}) {
			continue
		}
		language := 0
		if m.Language == "zh" {
			language = 1
		}
		about := []string{first.phrase[language]}
		if i+1 < len(ranked) && ranked[i+1].more > 0 {
			about = append(about, ranked[i+1].phrase[language])
		}
		when := Each(about, func(kind string) string { return "The span contains something about " + kind })
		return map[string]any{"action": "add_new", "reasoning": "storage: " + first.name + " was lost most",
			"skill": map[string]any{"name": name, "title": "Capture " + first.name,
				"description": "Adds what the span contains about " + strings.Join(about, ", and about ") + ".",
				"purpose":     "Keep what questions were asked about and was not written down", "when_to_use": when,
				"how_to_apply": manner(m), "constraints": []string{"Ignore greetings and questions"},
				"action": "insert"}}
	}
	return nil
}

// manner returns the form of a new skill's items: the form of the bank's skills, or else everything
// that can help a search.
func manner(m prompt.Material) []string {
	for _, s := range m.Bank {
		if f := Compile(s); s.Action == "insert" && (f.short || f.lean || f.spoken || f.dated) {
			out := []string{"Write one item for each"}
			for _, one := range []struct {
				has  bool
				rule string
			}{{f.short, brief}, {f.lean, lean}, {f.spoken, named}, {f.dated, timed}} {
				if one.has {
					out = append(out, one.rule)
				}
			}
			return out
		}
	}
	return []string{"Write one item for each, with the date and the name of the speaker"}
}

// wants reports whether a skill already names a class.
func wants(s prompt.MemorySkill, class string) bool { return Compile(s).wanted&kind(class) != 0 }

func count(into map[string]float64, text string) {
	shown := shows(Sentence{Raw: text}, len(Terms(text)))
	for i, c := range classes {
		if shown>>i&1 == 1 {
			into[c.name]++
		}
	}
}

// Rules of form, which make items findable or shorter.
const (
	named = "Start each item with the name of the speaker, or of whose record it is"
	timed = "Start each item with the date"
	brief = "Keep items compact"
	lean  = "Leave out filler words"
)

func shorter(m prompt.Material, tried func(string) bool) map[string]any {
	const why = "storage: what the skills ask for found no room"
	if !tried(brief) {
		if edit := refined(m, brief, why, func(f Filter) bool { return f.short }); edit != nil {
			return edit
		}
	}
	if tried(brief) || tried(lean) {
		return nil
	}
	return refined(m, lean, why, func(f Filter) bool { return f.lean })
}

func form(m prompt.Material, tried func(string) bool) map[string]any {
	if !slices.ContainsFunc(failures(m), func(f failure) bool {
		return f.Mechanism == "retrieval" || f.Mechanism == "quality"
	}) {
		return nil
	}
	const why = "retrieval: items cannot be told apart"
	if !tried(named) {
		if edit := refined(m, named, why, func(f Filter) bool { return f.spoken }); edit != nil {
			return edit
		}
	}
	if tried(timed) {
		return nil
	}
	return refined(m, timed, why, func(f Filter) bool { return f.dated })
}

// refined adds a rule to the first inserting skill without it.
func refined(m prompt.Material, rule, why string, has func(Filter) bool) map[string]any {
	for _, s := range m.Bank {
		if s.Action == "insert" && !has(Compile(s)) {
			return map[string]any{"action": "refine_existing", "name": s.Name, "reasoning": why,
				"changes": map[string]any{"how_to_apply": append(slices.Clone(s.HowToApply), rule)}}
		}
	}
	return nil
}

// crowded reports whether the skills already ask for most of what was lost, so that the cause was a
// lack of room.
func crowded(m prompt.Material) bool {
	var asking []Filter
	for _, s := range m.Bank {
		if s.Action == "insert" {
			asking = append(asking, Compile(s))
		}
	}
	lost, asked := 0, 0
	for _, f := range failures(m) {
		if f.Mechanism != "storage" || len(f.Evidence) == 0 {
			continue
		}
		lost++
		if slices.ContainsFunc(Hear([]prompt.Message{{Content: strings.Join(f.Evidence, "\n")}}), func(h Heard) bool {
			return slices.ContainsFunc(asking, func(f Filter) bool { return f.fit(h) > 0 })
		}) {
			asked++
		}
	}
	return 2*asked > lost
}
