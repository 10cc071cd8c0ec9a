package offline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxDepth bounds schemas that nest or refer to themselves.
const maxDepth = 16

// schema is the part of JSON Schema that a reply's shape depends on.
type schema struct {
	Type       kinds              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
}

// kinds is the type keyword, one word or several.
type kinds []string

func (k *kinds) UnmarshalJSON(data []byte) error {
	*k = kinds{""}
	if json.Unmarshal(data, &(*k)[0]) == nil {
		return nil
	}
	return json.Unmarshal(data, (*[]string)(k))
}

// resolve follows references and the first alternative that is more than null.
// It gives the JSON type to make, empty for any, and whether null will do.
func (s *schema) resolve(root *schema) (target *schema, kind string, nullable bool) {
	for range maxDepth {
		if s != nil && s.Ref != "" {
			s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		}
		if s == nil || len(s.AnyOf) == 0 {
			break
		}
		isNull := func(one *schema) bool { return slices.Equal(one.Type, kinds{"null"}) }
		nullable = nullable || slices.ContainsFunc(s.AnyOf, isNull)
		s = s.AnyOf[max(0, slices.IndexFunc(s.AnyOf, func(one *schema) bool { return !isNull(one) }))]
	}
	if s == nil {
		return &schema{}, "", true
	}
	for _, one := range s.Type {
		if one == "null" {
			nullable = true
		} else if kind == "" {
			kind = one
		}
	}
	if kind == "" && len(s.Properties) > 0 {
		kind = "object"
	}
	return s, kind, nullable
}

// fill makes the value that a schema asks for: what the answerer of the
// property shows, else the empty value of its type. For a list of objects an
// answerer shows parts of the view, which answer for one object each.
func fill(root, s *schema, property string, v *view, depth int) any {
	s, kind, nullable := s.resolve(root)
	var found any
	if answer := answerers[property]; answer != nil {
		found = answer(v, property)
	}
	if depth == 0 || found == nil && nullable {
		return nil
	}
	switch kind {
	case "object":
		object := make(map[string]any, len(s.Properties))
		for name, child := range s.Properties {
			object[name] = fill(root, child, name, v, depth-1)
		}
		return object
	case "array":
		list := []any{}
		switch found := found.(type) {
		case []*view:
			for _, part := range found {
				list = append(list, fill(root, s.Items, "", part, depth-1))
			}
		case []string:
			for _, item := range found {
				list = append(list, fit(s.Items, root, item))
			}
		case []any:
			for _, item := range found {
				list = append(list, fit(s.Items, root, item))
			}
		}
		return list
	}
	return fit(s, root, found)
}

// fit turns what was found into a value of the type, empty when it is none.
func fit(s, root *schema, found any) any {
	s, kind, _ := s.resolve(root)
	if len(s.Enum) > 0 {
		same := func(choice any) bool { return strings.EqualFold(fmt.Sprint(choice), fmt.Sprint(found)) }
		return s.Enum[max(0, slices.IndexFunc(s.Enum, same))]
	}
	switch kind {
	case "boolean":
		truth, _ := found.(bool)
		return truth
	case "integer", "number":
		number, _ := found.(float64)
		if whole, ok := found.(int); ok {
			number = float64(whole)
		}
		if kind == "integer" {
			return int(math.Round(number))
		}
		return number
	case "string":
		if lines, ok := found.([]string); ok {
			return strings.Join(lines, "\n")
		}
		text, _ := found.(string)
		return text
	}
	return found // lists of lists and free-form values pass as they are
}
