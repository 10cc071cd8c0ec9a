package memoryrules

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/prompt"
)

// The facts of a session are the statements of its user, in their order: what is said in the first
// person, preferences, plans, relations, numbers and dates. A statement that contradicts a memory
// updates it, and "forget that …" deletes one.

var (
	forgets = regexp.MustCompile(
		`(?i)^(?:please |and |also |ok(?:ay)?,? |can you |could you )*(?:forget|delete|erase|` +
			`(?:do not|don't) remember)\b(?: (?:about|that|it that|what i said about))*|` +
			`^(?:请|麻烦|帮我)*(?:忘掉|忘记|删掉|删除|不要记住?)`,
	)
	orders = regexp.MustCompile(`(?i)\b(?:(?:want|need|like) you to|help me|can you|could you|would you|let me know|` +
		`tell me|show me|give me|explain)\b|帮我|请你|告诉我`)
	changed = han(`no longer|not any ?more|any ?more|changed|instead|actually|moved|switched|cancel\w+|postponed|`+
		`correction|replaced|now|quit|resigned|left|stopped|gave up|sold|broke up|got (?:divorced|married)|new`,
		`不再|改为|改成|取消|其实|换成|推迟|更正|搬|辞|离开|戒|新`)
	insteadOf = regexp.MustCompile(`(?i)\binstead of (.+)$`)
	attribute = regexp.MustCompile(`(?i)^((?:my|our)\b.+?) (?:is|are|was|were|has|have|will be)\b|^(我的?.+?)是`)
	leading   = regexp.MustCompile(
		`(?i)^(?:and|but|so|well|also|oh|ok(?:ay)?|yes|no|by the way|actually|hi|hello|hey)[, ]+`,
	)
)

// slots are things of which a person usually has one. A statement about one contradicts the memory of
// the same slot.
var slots = []*regexp.Regexp{
	han(`live|lives|living|lived|moved (?:in|to|from|back|out)|moving to|relocated`, `住|搬`),
	han(`(?:work|works|working|worked) (?:at|for|as|in)|quit|joined|resigned|retired|employed|job|employer`,
		`工作|辞职|加入|上班|任职`),
}

// own matches the start of a statement about its speaker, and kin that of one about others.
var (
	own = regexp.MustCompile(`(?i)^(?:i|we|i'm|i've|we've|we're)\b|^我`)
	kin = regexp.MustCompile(`(?i)^(?:my|our)\b|^我的|'s\b`)
)

// statement is a kept statement of a session.
type statement struct {
	text, raw string
	about     string
	date      string
	kind      string
	index     int
	op        string
	handle    string
	terms     []string
}

// facts returns the facts of a session.
func facts(m prompt.Material) any {
	stored := slices.Clone(m.Stored)
	var kept []statement
	for _, s := range statements(m) {
		switch {
		case s.op == "delete":
			if at := closest(s, stored); at >= 0 {
				s.handle = stored[at].Handle
				kept, stored = append(kept, s), slices.Delete(stored, at, at+1)
			}
			kept = slices.DeleteFunc(kept, func(o statement) bool {
				return o.op == "add" && Share(s.terms, o.terms) >= sameAs
			})
		default:
			s.resolve(stored)
			if slices.ContainsFunc(kept, func(o statement) bool { return o.handle != "" && o.handle == s.handle }) {
				s.op, s.handle = "add", "" // another statement has changed that memory
			}
			if s.op == "add" {
				kept = slices.DeleteFunc(
					kept,
					func(o statement) bool { return o.op == "add" && s.replaces(o.raw, o.terms) },
				)
			}
			kept = append(kept, s)
		}
	}
	out := []any{}
	for _, s := range kept {
		f := map[string]any{"op": s.op, "content": s.text, "type": s.kind, "evidence": []int{s.index}, "about": s.about}
		if s.handle != "" {
			f["handle"] = s.handle
		}
		if s.date != "" {
			f["event_time"] = s.date
		}
		out = append(out, f)
	}
	return out
}

// statements returns what users say that may be kept.
func statements(m prompt.Material) (out []statement) {
	mask, who := NewMask(m.Messages), users(m)
	seen := map[string]bool{}
	for _, message := range m.Messages {
		if message.Role != "user" {
			continue
		}
		var said time.Time
		if found := stamp.FindStringSubmatch(message.Content); found != nil {
			said, _ = time.Parse(time.DateOnly, found[1])
			message.Content = stamp.ReplaceAllString(message.Content, "")
		}
		about := m.Subject
		if len(who) > 1 && message.Name != "" && message.Name != m.Subject {
			about = message.Name
		}
		for _, sentence := range parted(mask.Sentences(message)) {
			s, ok := read(sentence, said)
			if key := strings.ToLower(s.op + s.raw + about); ok && !seen[key] {
				seen[key] = true
				s.about = about
				out = append(out, s)
			}
		}
	}
	return out
}

// joint separates two statements of one sentence.
var joint = regexp.MustCompile(`(?i),? (?:and|but) ((?:I|we|my|our)\b)|，(?:而且|并且|但是?)?(我)`)

// parted divides sentences that make statements about two slots, because each can change alone.
func parted(all []Sentence) (out []Sentence) {
	for _, s := range all {
		parts := strings.Split(joint.ReplaceAllString(s.Raw, "\n$1$2"), "\n")
		filled := slices.DeleteFunc(slices.Clone(parts), func(part string) bool {
			return !slices.ContainsFunc(slots, func(slot *regexp.Regexp) bool { return slot.MatchString(part) })
		})
		if len(filled) < 2 {
			parts = []string{s.Raw}
		}
		for i, raw := range parts {
			part := s
			if part.Raw = Capital(strings.TrimSpace(raw)); i == 0 && part.Raw != s.Raw {
				part.Raw += "."
			}
			out = append(out, part)
		}
	}
	return out
}

// read returns the statement of a sentence, if it is one to keep.
func read(sentence Sentence, said time.Time) (s statement, ok bool) {
	raw := strings.TrimSpace(leading.ReplaceAllString(sentence.Raw, ""))
	if forgets.MatchString(raw) {
		rest := strings.TrimSpace(forgets.ReplaceAllString(raw, ""))
		return statement{
			op:    "delete",
			raw:   rest,
			kind:  "fact",
			index: sentence.Index,
			terms: Terms(rest),
		}, true
	}
	text := strings.TrimSpace(ToRemember.ReplaceAllString(raw, ""))
	asked := text != raw
	s = statement{op: "add", raw: text, index: sentence.Index, terms: Terms(text)}
	classes := shows(sentence, len(s.terms))
	telling := firstPerson.MatchString(text) || sentence.Wish ||
		classes&(kind("preference")|kind("plan")|kind("relation")|kind("number")|kind("time")) != 0
	switch {
	case sentence.Greeting || !asked && (sentence.Question || Asking.MatchString(text)):
		return s, false
	case !asked && !sentence.Wish && (orders.MatchString(text) || sentence.Imperative):
		return s, false
	case !asked && !telling || len(s.terms) == 0:
		return s, false
	}
	date, named := when(text, said)
	s.date, s.kind = date, kindOf(classes)
	s.text = Capital(strings.TrimRight(text, "?？ "))
	if date != "" && !named {
		s.text = strings.TrimRight(s.text, ".。 ") + " (" + date + ")."
	}
	return s, true
}

// kindOf returns the kind of a fact by its classes.
func kindOf(classes kinds) string {
	for _, k := range []struct{ class, kind string }{{"preference", "preference"}, {"plan", "plan"},
		{"relation", "relation"}, {"event", "event"}} {
		if classes&kind(k.class) != 0 {
			return k.kind
		}
	}
	return "fact"
}

// resolve decides whether a statement is new, repeats a memory or changes one.
func (s *statement) resolve(stored []prompt.StoredMemory) {
	best, most := -1, 0.0
	for i, m := range stored {
		terms := Terms(m.Content)
		share := Share(s.terms, terms)
		if share == 1 && Share(terms, s.terms) == 1 {
			s.op, s.handle = "none", m.Handle
			return
		}
		if s.replaces(m.Content, terms) && 1+share > most {
			best, most = i, 1+share
		}
	}
	if best >= 0 {
		s.op, s.handle = "update", stored[best].Handle
	}
}

// replaces reports whether a statement makes another one wrong.
func (s *statement) replaces(other string, terms []string) bool {
	if own.MatchString(s.raw) && !kin.MatchString(other) && changed.MatchString(s.raw) {
		for _, slot := range slots {
			if slot.MatchString(s.raw) && slot.MatchString(other) {
				return true
			}
		}
	}
	if a, b := attribute.FindString(s.raw), attribute.FindString(other); a != "" && sameWords(a, b) {
		return true
	}
	if m := insteadOf.FindStringSubmatch(s.raw); m != nil {
		return Share(Terms(m[1]), terms) == 1
	}
	return changed.MatchString(s.raw) && Share(terms, s.terms) >= aboutIt &&
		Share(s.terms, terms) >= aboutIt
}

// sameWords compares the subjects of two statements, without words such as "new".
func sameWords(a, b string) bool {
	x, y := Terms(a), Terms(b)
	return len(x) > 0 && Share(x, y) == 1 && Share(y, x) == 1
}

// closest returns the place of the memory that a request to forget means, or -1.
func closest(s statement, stored []prompt.StoredMemory) (best int) {
	best, most := -1, 0.5
	for i, m := range stored {
		if share := Share(s.terms, Terms(m.Content)); share >= most && (best < 0 || share > most) {
			best, most = i, share
		}
	}
	return best
}

// digestRunes is the size of a summary of a session, in runes.
const digestRunes = 240

// digest returns the most informative statements of each conversation, one line for each.
func digest(m prompt.Material) any {
	lines := map[int][]Sentence{}
	mask, most := NewMask(m.Messages), 0
	for _, message := range m.Messages {
		if message.Role == "user" {
			message.Content = stamp.ReplaceAllString(message.Content, "")
			lines[message.Conversation] = append(lines[message.Conversation], mask.Sentences(message)...)
		}
		most = max(most, message.Conversation)
	}
	var out []string
	for n := min(most, 1); n <= most; n++ {
		text := strings.Join(
			Each(Telling(lines[n], 2), func(s Sentence) string { return s.Raw }),
			" ",
		)
		runes := []rune(strings.ReplaceAll(text, "\n", " "))
		out = append(out, string(runes[:min(len(runes), digestRunes)]))
	}
	return strings.Join(out, "\n")
}
