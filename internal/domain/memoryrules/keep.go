package memoryrules

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"cairn/internal/domain/annotate"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/prompt"
)

// Answers are what the rules say for properties of a reply, by their names. Those
// of memory skills are nil where the material holds none.
var Answers = map[string]func(prompt.Material) any{
	"actions":          with(keep),
	"failure_patterns": with(patterns),
	"recommendations":  with(recommendations),
	"changes":          with(changes),
	"summary":          with(summary),
	"goal":             goal,
	"key_facts":        keyFacts,
	"recent_actions":   recentActions,
	"ranking":          ranking,
	"context":          context,
	"used":             used,
	"probes":           probes,
}

func with(answer func(prompt.Material) any) func(prompt.Material) any {
	return func(m prompt.Material) any {
		if len(m.Bank) == 0 {
			return nil
		}
		return answer(m)
	}
}

// Heard is a sentence with who said it, or whose record it is, when, and all that a filter asks of it.
type Heard struct {
	annotate.Sentence
	speaker, date string
	shows         kinds
	terms         []string // each once
	compact, lean []string // its words without those that no search looks for, and without fillers
}

// filler says how strongly something is meant, or that somebody speaks.
var filler = regexp.MustCompile(`(?i)^\W*(?:hey|hi|hello|wow|whoa|woah|oh|ah|aw+|yeah|yep|yup|yes|nope|ok|okay|well|` +
	`hmm|haha|lol|thanks?|thank|please|cheers|really|super|totally|definitely|actually|basically|literally|` +
	`absolutely|truly|completely|especially|certainly|probably|maybe|perhaps|kinda|sorta|pretty|quite|rather|` +
	`somewhat|always|even|still|yet|though|anyway|like|know|guess|mean|think|lots?|bit|thing|things|stuff|something|` +
	`great|awesome|amazing|good|nice|cool|wonderful|fantastic|incredible)\W*$`)

// owned finds whose record a tool was asked for or gave.
var owned = regexp.MustCompile(`(?i)\b(?:user|customer|client|account|member|owner)_?(?:id|name)\W+([\w.@-]+)`)

var stamp = regexp.MustCompile(`^\[(\d{4}-\d{2}-\d{2})[^\]]*\]\s*`)

// Hear reads a span sentence by sentence. What it makes may be kept and given to
// Keep any number of times.
func Hear(messages []prompt.Message) (out []Heard) {
	mask, owner := annotate.NewMask(messages), ""
	for _, message := range messages {
		if found := owned.FindStringSubmatch(message.Content); found != nil && message.Role == "tool" {
			owner = found[1]
		}
		if message.Role == "tool" && message.Name == "" {
			message.Name = owner
		}
		date := ""
		if found := stamp.FindStringSubmatch(message.Content); found != nil {
			date = found[1]
			message.Content = stamp.ReplaceAllString(message.Content, "")
		}
		for _, s := range mask.Sentences(message) {
			terms := annotate.Terms(s.Raw)
			h := Heard{Sentence: s, speaker: message.Name, date: date, shows: shows(s, len(terms)),
				terms: annotate.Distinct(terms, len(terms))}
			for _, w := range strings.Fields(s.Raw) {
				if len(lexical.Words(w)) > 0 || refuses.MatchString(w) {
					h.compact = append(h.compact, w)
					if !filler.MatchString(w) {
						h.lean = append(h.lean, w)
					}
				}
			}
			out = append(out, h)
		}
	}
	return out
}

// Shares of words from which on a sentence is about a memory, and says the same.
const (
	aboutIt = 0.4
	sameAs  = 0.75
)

// IndexedMemory is a stored memory with its words.
type IndexedMemory struct {
	Handle, Content string
	terms           map[string]bool
}

// Recall reads a memory.
func Recall(handle, content string) IndexedMemory {
	k := IndexedMemory{handle, content, map[string]bool{}}
	for _, t := range annotate.Terms(content) {
		k.terms[t] = true
	}
	return k
}

// Action is what becomes of a sentence: an insert has Content, About and Kind, an
// update Target and Content, a delete Target.
type Action struct {
	Type, Skill, Content, About, Kind, Target string
	Evidence                                  []int
}

func keep(m prompt.Material) any {
	memories := annotate.Each(
		m.Stored,
		func(s prompt.StoredMemory) IndexedMemory { return Recall(s.Handle, s.Content) },
	)
	actions := []any{}
	for _, a := range Keep(Hear(m.Messages), memories, annotate.Each(m.Bank, Compile)) {
		fields := map[string]any{"type": a.Type, "evidence": a.Evidence, "skill": a.Skill, "content": a.Content,
			"about": a.About, "memory_type": a.Kind, "target": a.Target}
		maps.DeleteFunc(fields, func(_ string, v any) bool { return v == "" })
		actions = append(actions, fields)
	}
	return actions
}

// Keep makes the actions of a span. A sentence leads to one action at most: what
// is taken back goes first, then what is corrected, then what is new.
func Keep(heard []Heard, memories []IndexedMemory, filters []Filter) (out []Action) {
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
		a := Action{Type: f.action, Evidence: []int{s.Index}, Skill: f.name}
		if f.action == "insert" {
			a.Content, a.About, a.Kind = f.item(s), cmp.Or(s.speaker, s.Role), "personal"
		} else {
			a.Target, touched[closest.Handle] = closest.Handle, true
			if f.action == "update" {
				a.Content = f.item(s)
			}
		}
		out = append(out, a)
	}
	return out
}

// order lets the more drastic action go first.
var order = map[string]float64{"insert": 1, "update": 2, "delete": 3}

var takenBack = han(`no longer|not any ?more|any ?more|cancel\w+|called off|forget (?:about )?(?:it|that)|never mind`,
	`不再|取消|作废|算了`)

// serves tells whether the stored memories let the action be taken at all.
func (f Filter) serves(s Heard, closest IndexedMemory, share float64) bool {
	switch f.action {
	case "insert":
		return share < sameAs
	case "update":
		return closest.Handle != "" && share >= aboutIt && s.shows&change != 0 && closest.Content != f.item(s)
	case "delete":
		return closest.Handle != "" && share >= aboutIt && takenBack.MatchString(s.Raw)
	}
	return false
}

// nearest is the memory that has most of the words.
func nearest(memories []IndexedMemory, words []string, not map[string]bool) (best IndexedMemory, most float64) {
	for _, one := range memories {
		shared := 0.0
		for _, w := range words {
			if one.terms[w] {
				shared++
			}
		}
		if share := shared / float64(max(1, len(words))); share > most && !not[one.Handle] {
			best, most = one, share
		}
	}
	return best, most
}
