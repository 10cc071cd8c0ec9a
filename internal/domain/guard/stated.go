package guard

import (
	"regexp"
	"strings"

	"cairn/internal/domain/transcript"
)

// stated holds the values of system prompts and of users' rules. They apply to every case, so they stay.
type stated struct {
	dates  []day
	routes map[string]bool
	words  map[string]bool // attributes, in lower case
	grams  map[uint64]bool
}

var (
	lasting = regexp.MustCompile(`(?i)\b(?:always|never|from now on|in (?:the )?future|every time|each time|by ` +
		`default|prefer(?:s|red)?|policy|policies|under no circumstances|as a rule)\b|` +
		`总是|永远|以后|今后|每次|一律|务必|不得|规定|规则|默认|政策`)
	duty = regexp.MustCompile(
		`(?i)\b(?:must|need(?:s)? to|required?|requires|not allowed|at most|at least|only if|unless|` +
			`up to|no more than|may not|cannot|can't|are (?:not )?(?:eligible|refundable|` +
			`entitled))\b|必须|最多|至少|不能|不可|只能|应当|需要|超过`,
	)
	oneself = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|i'd|me|my|mine|we|our|us)\b|我`)
)

// isRule reports whether a user's sentence states a rule for all cases, and not a wish for this one.
func isRule(sentence string) bool {
	return lasting.MatchString(sentence) || duty.MatchString(sentence) && !oneself.MatchString(sentence)
}

// rules returns the text that applies to every case: system prompts, and users' rules.
func rules(messages []transcript.Message) string {
	var b strings.Builder
	for _, m := range messages {
		switch {
		case m.Role == transcript.System:
			b.WriteString(m.Content + "\n")
		case m.FromHuman():
			for _, s := range sentences(m.Content) {
				if text := m.Content[s.start:s.end]; isRule(text) {
					b.WriteString(text + "\n")
				}
			}
		}
	}
	return b.String()
}

// state reads the values of the rules. The places of the case must be known.
func (v *ValueSet) state(text string) {
	v.stated = stated{routes: map[string]bool{}, words: map[string]bool{}, grams: map[uint64]bool{}}
	for _, d := range dates(text) {
		v.stated.dates = append(v.stated.dates, d.readings...)
	}
	for _, s := range sums(text) {
		delete(v.amounts, s.value)
	}
	for _, r := range v.routes(text) {
		v.stated.routes[routeKey(text, r)] = true
	}
	for _, l := range v.keyedAttributes(text) {
		v.stated.words[strings.ToLower(text[l.start:l.end])] = true
	}
	text = v.Mask(text)
	for _, s := range sentences(text) {
		for _, g := range grams(text[s.start:s.end]) {
			v.stated.grams[g] = true
		}
	}
}

// dateLeaks finds the dates of the case, in any form.
func (v ValueSet) dateLeaks(text string) (found []leak) {
	if len(v.dates) == 0 {
		return nil
	}
	for _, d := range dates(text) {
		kind := ""
		for _, reading := range d.readings {
			if of := v.dateKind(reading); of != "" && kind != "birth_date" {
				kind = of
			}
		}
		if kind != "" {
			found = append(found, leak{d.window, term{kind: kind, label: kind}})
		}
	}
	return found
}

// dateKind returns date, birth_date, or nothing for a date that is not private.
func (v ValueSet) dateKind(d day) (kind string) {
	for of, birth := range v.dates {
		if of.same(d) {
			if birth {
				return "birth_date"
			}
			kind = "date"
		}
	}
	for _, of := range v.stated.dates {
		if of.same(d) {
			return ""
		}
	}
	return kind
}
