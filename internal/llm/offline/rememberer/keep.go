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
	"ranking":          ranking,
	"context":          context,
	"used":             used,
}

func with(answer func(prompt.Material) any) func(prompt.Material) any {
	return func(m prompt.Material) any {
		if len(m.Bank) == 0 {
			return nil
		}
		return answer(m)
	}
}

// Heard is a sentence with who said it when, and all that a filter asks of it.
type Heard struct {
	notice.Sentence
	speaker, date string
	shows         map[string]bool
	terms         []string
}

var stamp = regexp.MustCompile(`^\[(\d{4}-\d{2}-\d{2})[^\]]*\]\s*`)

// Hear reads a span sentence by sentence. What it makes may be kept and given to
// Keep any number of times.
func Hear(messages []prompt.Message) (out []Heard) {
	mask := notice.NewMask(messages)
	for _, message := range messages {
		date := ""
		if found := stamp.FindStringSubmatch(message.Content); found != nil {
			date = found[1]
			message.Content = stamp.ReplaceAllString(message.Content, "")
		}
		for _, s := range mask.Sentences(message) {
			out = append(out, Heard{s, message.Name, date, shows(s), notice.Terms(s.Raw)})
		}
	}
	return out
}

// Shares of words from which on a sentence is about a memory, and says the same.
const (
	aboutIt = 0.4
	sameAs  = 0.75
)

func keep(m prompt.Material) any {
	return Keep(Hear(m.Messages), m.Stored, notice.Each(m.Bank, Compile))
}

// Keep makes the actions of a span. A sentence leads to one action at most: what
// is taken back goes first, then what is corrected, then what is new.
func Keep(heard []Heard, stored []prompt.Stored, filters []Filter) []any {
	memories := notice.Each(stored, func(s prompt.Stored) known { return known{s, notice.Terms(s.Content)} })
	out := []any{}
	used, touched := map[string]int{}, map[string]bool{}
	for _, s := range heard {
		closest, share := nearest(memories, s.terms, touched)
		best, most := -1, 0.0
		for i, f := range filters {
			fit := f.fit(s)
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
func (f Filter) serves(s Heard, closest prompt.Stored, share float64) bool {
	changed := s.shows["change"]
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

// known is a stored memory with its words.
type known struct {
	prompt.Stored
	terms []string
}

// nearest is the memory that shares most words with a text.
func nearest(memories []known, own []string, not map[string]bool) (best prompt.Stored, most float64) {
	for _, one := range memories {
		if share := min(notice.Share(own, one.terms), 1); share > most && !not[one.Handle] && slices.ContainsFunc(own, func(t string) bool { return slices.Contains(one.terms, t) }) {
			best, most = one.Stored, share
		}
	}
	return best, most
}
