package skill

import (
	"encoding/json"
	"regexp"
	"strings"
)

// SourceReader reads parts from decoded JSON, as models write them. It drops parts that cite no message and counts
// them.
type SourceReader struct {
	Cites   func(evidence any) bool // whether a value cites a message of the task
	Dropped int
}

// Inputs reads inputs. A string is the name of a required input.
func (r *SourceReader) Inputs(value any) (out []Input) {
	for _, one := range partList(value) {
		in := Input{Name: text(one), Required: true}
		if object, ok := one.(map[string]any); ok {
			in = Input{Name: field(object, "name"), Origin: field(object, "origin"),
				Required: object["required"] != false}
		}
		if in.String() != "" && in.Name != "" {
			out = append(out, ParseInput(in.String()))
		}
	}
	return out
}

// Rules reads rules. The source of a rule is Observed by default.
func (r *SourceReader) Rules(value any) (out []Rule) {
	for _, object := range r.cited(value) {
		rule := Rule{If: field(object, "if"), Then: field(object, "then"), Value: field(object, "value"),
			Unit: field(object, "unit"), Source: strings.ToLower(field(object, "source"))}
		if rule.Source != SourcePolicy && rule.Source != SourceUser {
			rule.Source = SourceObserved
		}
		if rule.Then != "" {
			out = append(out, ParseRule(rule.String()))
		}
	}
	return out
}

// Pitfalls reads pitfalls. One without an error or a fix is dropped, because nothing was seen to work.
func (r *SourceReader) Pitfalls(value any) (out []Pitfall) {
	for _, object := range r.cited(value) {
		p := Pitfall{Error: field(object, "error"), Cause: field(object, "cause"), Fix: field(object, "fix")}
		if parsed, ok := ParsePitfall(p.String()); ok && p.Fix != "" {
			out = append(out, parsed)
		} else {
			r.Dropped++
		}
	}
	return out
}

// Steps reads steps. A step that the skill has already, according to known, needs no citation.
func (r *SourceReader) Steps(value any, known func(text string) bool) (out []Step) {
	for _, one := range partList(value) {
		object, ok := one.(map[string]any)
		if !ok {
			object = map[string]any{"text": one}
		}
		s := Step{Text: stepNumber.ReplaceAllString(field(object, "text"), ""), Tool: field(object, "tool"),
			Check: field(object, "check"), IfFails: field(object, "if_fails")}
		for _, name := range partList(object["arguments"]) {
			s.Arguments = append(s.Arguments, split(text(name), ",")...)
		}
		if s.Text == "" {
			continue
		}
		if !r.Cites(object["evidence"]) && !known(s.Text) {
			r.Dropped++
			continue
		}
		out = append(out, s)
	}
	return out
}

var stepNumber = regexp.MustCompile(`^(?:[0-9]{1,3}[.)、]|[-*+])\s+`)

// cited returns the objects of a list that cite a message.
func (r *SourceReader) cited(value any) (out []map[string]any) {
	for _, one := range partList(value) {
		object, ok := one.(map[string]any)
		if !ok || !r.Cites(object["evidence"]) {
			r.Dropped++
			continue
		}
		out = append(out, object)
	}
	return out
}

// partList returns the elements of an array, or the value itself as the only one.
func partList(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return value
	}
	return []any{value}
}

// field reads a text of an object as one line. Models write null and "none" for nothing.
func field(object map[string]any, name string) string {
	found := text(object[name])
	switch strings.ToLower(found) {
	case "none", "null", "n/a":
		return ""
	}
	return found
}

func text(value any) string {
	switch value := value.(type) {
	case string:
		return line(value)
	case json.Number:
		return value.String()
	}
	return ""
}
