package offlinemodel

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
)

// maxDepth bounds schemas that are deeply nested or recursive.
const maxDepth = 32

// schema is the part of JSON Schema that determines a reply's shape.
type schema struct {
	Type       any                `json:"type"` // a string or a list of strings
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Required   []string           `json:"required"`
	MaxLength  int                `json:"maxLength"`
	Pattern    string             `json:"pattern"`
}

// empty contains the empty values of the scalar types.
var empty = map[string]any{"boolean": false, "integer": 0, "number": 0.0, "string": ""}

// fill creates the value that a schema describes.
func fill(s *schema, v *view) any { return s.shape(s, v, v, maxDepth) }

// shape converts the result of an answerer into a value of the schema, or into the empty value of
// its type if nothing was found. An object is filled from a view, each property by its answerer. A
// list of objects comes from a list of views.
func (s *schema) shape(root *schema, v *view, found any, depth int) any {
	if s == nil || depth == 0 {
		return nil
	}
	if s.Ref != "" {
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].shape(root, v, found, depth-1)
	}
	types, several := s.Type.([]any)
	if !several {
		types = []any{s.Type}
	}
	choices := slices.DeleteFunc(slices.Clone(s.AnyOf), func(one *schema) bool { return one.Type == "null" })
	nullable := slices.Contains(types, any("null")) || len(choices) < len(s.AnyOf)
	kind, _ := types[max(0, slices.IndexFunc(types, func(one any) bool { return one != "null" }))].(string)
	switch {
	case found == nil && nullable:
		return nil
	case len(choices) > 0:
		return choices[0].shape(root, v, found, depth-1)
	case len(s.Enum) > 0:
		same := func(choice any) bool { return strings.EqualFold(fmt.Sprint(choice), fmt.Sprint(found)) }
		return s.Enum[max(0, slices.IndexFunc(s.Enum, same))]
	case kind == "object" || kind == "" && len(s.Properties) > 0:
		return s.object(root, v, found, depth)
	case kind == "array":
		list := []any{}
		if items := reflect.ValueOf(found); items.Kind() == reflect.Slice {
			for i := range items.Len() {
				list = append(list, s.Items.shape(root, v, items.Index(i).Interface(), depth-1))
			}
		}
		return list
	}
	if lines, ok := found.([]string); ok && kind == "string" {
		found = strings.Join(lines, "\n")
	}
	if zero := empty[kind]; zero != nil && reflect.TypeOf(found) != reflect.TypeOf(zero) {
		return zero
	}
	if text, ok := found.(string); ok {
		if fits, err := regexp.MatchString(s.Pattern, text); err == nil && !fits {
			text = strings.Join(v.main.Words(), "-") // a name in Latin letters
		}
		runes := []rune(text)
		found = string(runes[:min(len(runes), cmp.Or(s.MaxLength, len(runes)))])
	}
	return found
}

// object fills the properties from the found view, else from the surrounding view.
func (s *schema) object(root *schema, v *view, found any, depth int) any {
	if part, ok := found.(*view); ok {
		v = part
	}
	object := make(map[string]any, len(s.Properties))
	given, whole := found.(map[string]any) // a complete object
	for name, child := range s.Properties {
		found := given[name]
		if answer := answerers[name]; answer != nil && !whole {
			found = answer(v)
		} else if answer := memoryrules.Answers[name]; answer != nil && !whole {
			found = answer(v.material)
		}
		object[name] = child.shape(root, v, found, depth-1)
	}
	return object
}
