package memoryrules

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/prompt"
)

// Answers returns the rules' values for properties of a reply, by property name. The functions for
// memory skills return nil if the material has none.
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
	"facts":            session(facts),
	"digest":           session(digest),
}

func with(answer func(prompt.Material) any) func(prompt.Material) any {
	return func(m prompt.Material) any {
		if len(m.Bank) == 0 {
			return nil
		}
		return answer(m)
	}
}

// session returns an answer for sessions, which have a subject.
func session(answer func(prompt.Material) any) func(prompt.Material) any {
	return func(m prompt.Material) any {
		if m.Subject == "" {
			return nil
		}
		return answer(m)
	}
}

// Heard is a sentence with its speaker or record owner, its time, and the words that a filter
// needs.
type Heard struct {
	Sentence
	speaker, date string
	shows         kinds
	terms         []string // without repetitions
	compact, lean []string // words without those that searches ignore, and without fillers
}

// filler matches words of emphasis and words that only signal speech.
var filler = regexp.MustCompile(`(?i)^\W*(?:hey|hi|hello|wow|whoa|woah|oh|ah|aw+|yeah|yep|yup|yes|nope|ok|okay|well|` +
	`hmm|haha|lol|thanks?|thank|please|cheers|really|super|totally|definitely|actually|basically|literally|` +
	`absolutely|truly|completely|especially|certainly|probably|maybe|perhaps|kinda|sorta|pretty|quite|rather|` +
	`somewhat|always|even|still|yet|though|anyway|like|know|guess|mean|think|lots?|bit|thing|things|stuff|something|` +
	`great|awesome|amazing|good|nice|cool|wonderful|fantastic|incredible)\W*$`)

// owned finds the owner of a record in the arguments or the result of a tool.
var owned = regexp.MustCompile(`(?i)\b(?:user|customer|client|account|member|owner)_?(?:id|name)\W+([\w.@-]+)`)

var stamp = regexp.MustCompile(`^\[(\d{4}-\d{2}-\d{2})[^\]]*\]\s*`)

// Hear reads a span sentence by sentence. The result can be passed to Keep any number of times.
func Hear(messages []prompt.Message) (out []Heard) {
	mask, owner := NewMask(messages), ""
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
			terms := Terms(s.Raw)
			h := Heard{Sentence: s, speaker: message.Name, date: date, shows: shows(s, len(terms)),
				terms: Distinct(terms, len(terms))}
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

// Shares of common words above which a sentence concerns a memory, or repeats it.
const (
	aboutIt = 0.4
	sameAs  = 0.75
)

// IndexedMemory is a stored memory with its words.
type IndexedMemory struct {
	Handle, Content string
	terms           map[string]bool
}

// Recall indexes a memory.
func Recall(handle, content string) IndexedMemory {
	k := IndexedMemory{handle, content, map[string]bool{}}
	for _, t := range Terms(content) {
		k.terms[t] = true
	}
	return k
}

// Action is a change of a memory. An insert has Content, About and Kind, an update Target and
// Content, and a delete Target.
type Action struct {
	Type, Skill, Content, About, Kind, Target string
	Evidence                                  []int
}

func keep(m prompt.Material) any {
	memories := Each(
		m.Stored,
		func(s prompt.StoredMemory) IndexedMemory { return Recall(s.Handle, s.Content) },
	)
	actions := []any{}
	for _, a := range Keep(Hear(m.Messages), memories, Each(m.Bank, Compile)) {
		fields := map[string]any{"type": a.Type, "evidence": a.Evidence, "skill": a.Skill, "content": a.Content,
			"about": a.About, "memory_type": a.Kind, "target": a.Target}
		maps.DeleteFunc(fields, func(_ string, v any) bool { return v == "" })
		actions = append(actions, fields)
	}
	return actions
}

// Keep returns the actions for a span. A sentence leads to at most one action. Deletions have the
// highest priority, then corrections, then new memories.
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

// order gives higher priority to the more drastic action.
var order = map[string]float64{"insert": 1, "update": 2, "delete": 3}

var takenBack = han(`no longer|not any ?more|any ?more|cancel\w+|called off|forget (?:about )?(?:it|that)|never mind`,
	`不再|取消|作废|算了`)

// serves reports whether the stored memories allow the action.
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

// nearest returns the memory that has most of the words.
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
