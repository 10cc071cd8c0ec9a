package taubench

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// personal holds personal data of customers. It is found with other rules than Cairn's, so the
// check is independent.
type personal struct {
	exact map[string]string // value → kind
	names map[string]bool   // first and last names, matched as whole words
	dates map[string]bool   // dates of cases in all of dateForms
}

var (
	isoDate   = regexp.MustCompile(`\b(?:19|20)\d\d-\d\d-\d\d\b`)
	dateForms = []string{
		time.DateOnly,
		"01/02/2006",
		"1/2/2006",
		"02.01.2006",
		"January 2",
		"Jan 2",
		"2 January",
		"2 Jan",
		"1月2日",
		"20060102",
	}
)

var nameKeys = map[string]bool{"first_name": true, "last_name": true}

var shapes = map[string]*regexp.Regexp{
	"e-mail":         regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[a-z]{2,}`),
	"user id":        regexp.MustCompile(`\b[a-z]+_[a-z]+_[0-9]{3,}\b`),
	"payment method": regexp.MustCompile(`\b(?:credit_card|gift_card|certificate)_[0-9]{4,}\b`),
	"reservation":    regexp.MustCompile(`"reservation_id": ?"([A-Z0-9]{6})"`),
	"card ending":    regexp.MustCompile(`"last_four": ?"([0-9]{4})"`),
}

func personalOf(conversations []transcript.Conversation) personal {
	p := personal{exact: map[string]string{}, names: map[string]bool{}, dates: map[string]bool{}}
	general := map[string]bool{} // dates that the policy states
	for _, c := range conversations {
		for _, m := range c.Messages {
			if m.Role == transcript.System {
				for _, d := range isoDate.FindAllString(m.Content, -1) {
					general[d] = true
				}
				continue
			}
			text := m.Content
			for _, call := range m.ToolCalls {
				text += "\n" + call.Arguments
			}
			for kind, shape := range shapes {
				for _, found := range shape.FindAllStringSubmatch(text, -1) {
					p.exact[found[len(found)-1]] = kind
				}
			}
			for _, d := range isoDate.FindAllString(text, -1) {
				if at, err := time.Parse(time.DateOnly, d); err == nil && !general[d] {
					for _, form := range dateForms {
						p.dates[at.Format(form)] = true
					}
				}
			}
			var object any
			if json.Unmarshal([]byte(m.Content), &object) == nil {
				p.collect(object)
			}
		}
	}
	return p
}

func (p personal) collect(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if text, ok := value.(string); ok && nameKeys[key] && len(text) > 2 {
				p.names[text] = true
			}
			p.collect(value)
		}
	case []any:
		for _, child := range node {
			p.collect(child)
		}
	}
}

const digits = "0123456789"

var word = regexp.MustCompile(`[A-Za-z0-9_@.+-]+`)

// in returns the personal data in a version.
func (p personal) in(v skill.Version) []Leak {
	var out []Leak
	for _, text := range texts(v) {
		for d := range p.dates {
			if at := strings.Index(
				text,
				d,
			); at >= 0 &&
				!strings.ContainsAny(text[at+len(d):min(len(text), at+len(d)+1)], digits) {
				out = append(out, Leak{Skill: v.Name, Kind: "date", Value: d})
			}
		}
		for _, w := range word.FindAllString(text, -1) {
			w = strings.Trim(w, ".-+")
			if kind, known := p.exact[w]; known {
				out = append(out, Leak{Skill: v.Name, Kind: kind, Value: w})
			} else if p.names[w] {
				out = append(out, Leak{Skill: v.Name, Kind: "name", Value: w})
			}
		}
	}
	return out
}
