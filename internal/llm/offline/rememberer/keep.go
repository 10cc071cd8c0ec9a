package rememberer

import (
	"cmp"
	"regexp"
	"slices"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

// Answers are what the rules say for properties of a reply, by their names. Each
// is nil where the material holds no memory skills.
var Answers = map[string]func(prompt.Material) any{
	"actions":          with(keep),
	"failure_patterns": with(patterns),
	"recommendations":  with(recommendations),
	"changes":          with(changes),
	"summary":          with(summary),
}

func with(answer func(prompt.Material) any) func(prompt.Material) any {
	return func(m prompt.Material) any {
		if len(m.Bank) == 0 {
			return nil
		}
		return answer(m)
	}
}

// said is a sentence with who said it when.
type said struct {
	notice.Sentence
	speaker, date string
}

var stamp = regexp.MustCompile(`^\[(\d{4}-\d{2}-\d{2})[^\]]*\]\s*`)

// heard are the sentences of a span.
func heard(m prompt.Material) (out []said) {
	mask := notice.NewMask(m.Messages)
	for _, message := range m.Messages {
		date := ""
		if found := stamp.FindStringSubmatch(message.Content); found != nil {
			date = found[1]
			message.Content = stamp.ReplaceAllString(message.Content, "")
		}
		for _, s := range mask.Sentences(message) {
			out = append(out, said{s, message.Name, date})
		}
	}
	return out
}

// Shares of words from which on a sentence is about a memory, and says the same.
const (
	aboutIt = 0.4
	sameAs  = 0.75
)

// keep makes the actions of a span. A sentence leads to one action at most: what
// is taken back goes first, then what is corrected, then what is new.
func keep(m prompt.Material) any {
	filters := notice.Each(m.Bank, compile)
	out := []any{}
	used, touched := map[string]int{}, map[string]bool{}
	for _, s := range heard(m) {
		closest, share := nearest(m.Stored, s.Raw, touched)
		best, most := -1, 0.0
		for i, f := range filters {
			fit := f.fit(s.Sentence)
			if fit <= 0 || f.most > 0 && used[f.name] == f.most || !f.serves(s, closest, share) {
				continue
			}
			if fit += 10 * order[f.action]; fit > most {
				best, most = i, fit
			}
		}
		if best < 0 {
			continue
		}
		f := filters[best]
		used[f.name]++
		a := map[string]any{"type": f.action, "evidence": []int{s.Index}, "skill": f.name}
		if f.action == "insert" {
			a["content"], a["about"], a["memory_type"] = f.item(s), cmp.Or(s.speaker, s.Role), "personal"
		} else {
			a["target"], touched[closest.Handle] = closest.Handle, true
			if f.action == "update" {
				a["content"] = f.item(s)
			}
		}
		out = append(out, a)
	}
	return out
}

// order lets the more drastic action go first.
var order = map[string]float64{"insert": 1, "update": 2, "delete": 3}

var takenBack = han(`no longer|not any ?more|any ?more|cancel\w+|called off|forget (?:about )?(?:it|that)|never mind`, `不再|取消|作废|算了`)

// serves tells whether the stored memories let the action be taken at all.
func (f filter) serves(s said, closest prompt.Stored, share float64) bool {
	changed := shows(s.Sentence)["change"]
	switch f.action {
	case "insert":
		return share < sameAs
	case "update":
		return closest.Handle != "" && share >= aboutIt && changed && closest.Content != f.item(s)
	case "delete":
		return closest.Handle != "" && share >= aboutIt && takenBack.MatchString(s.Raw)
	}
	return false
}

// nearest is the memory that shares most words with a text.
func nearest(stored []prompt.Stored, text string, not map[string]bool) (best prompt.Stored, most float64) {
	own := notice.Terms(text)
	for _, one := range stored {
		terms := notice.Terms(one.Content)
		if share := min(notice.Share(own, terms), 1); share > most && !not[one.Handle] && slices.ContainsFunc(own, func(t string) bool { return slices.Contains(terms, t) }) {
			best, most = one, share
		}
	}
	return best, most
}
