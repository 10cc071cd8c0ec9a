package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// document is what the test reads in schemas/openapi.json.
type document struct {
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID         string      `json:"operationId"`
	Parameters []parameter `json:"parameters"`
	Body       struct {
		Content map[string]struct {
			Schema *schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`

	method, path string
	tool         string // of a call of a tool, which has a schema of its own
	arguments    *schema
}

type parameter struct {
	In, Name string
	Schema   *schema
}

type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	Minimum    *json.Number       `json:"minimum"`
	Maximum    *json.Number       `json:"maximum"`
	MaxLength  int                `json:"maxLength"`
	MaxItems   int                `json:"maxItems"`
	Required   []string           `json:"required"`
}

func readDocument(t *testing.T) *document {
	t.Helper()
	raw, err := os.ReadFile("../../../schemas/openapi.json")
	testkit.Must(t, err)
	d := &document{}
	testkit.Must(t, json.Unmarshal(raw, d))
	return d
}

// operations returns all operations in a fixed order.
func (d *document) operations() []*operation {
	var out []*operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][method]
			op.method, op.path = strings.ToUpper(method), path
			out = append(out, op)
		}
	}
	return out
}

// resolve follows a reference.
func (d *document) resolve(s *schema) *schema {
	if s != nil && s.Ref != "" {
		return d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// field is a place in a body: keys of objects and indexes of arrays.
type field struct {
	at     []any
	schema *schema
}

func (f field) name() string {
	if len(f.at) == 0 {
		return "body"
	}
	name, _ := f.at[len(f.at)-1].(string)
	return name
}

const maxFieldDepth = 6

// fields returns every place in a body that s describes, and those of a sample without a schema.
func (d *document) fields(s *schema, sample any, at []any) []field {
	s = d.resolve(s)
	if s == nil {
		s = &schema{}
	}
	out := []field{{at, s}}
	if len(at) > maxFieldDepth {
		return out
	}
	members := maps.Clone(s.Properties)
	if members == nil {
		members = map[string]*schema{}
	}
	if object, ok := sample.(map[string]any); ok {
		for name := range object {
			if members[name] == nil {
				members[name] = &schema{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		object, _ := sample.(map[string]any)
		out = append(out, d.fields(members[name], object[name], append(slices.Clone(at), name))...)
	}
	list, _ := sample.([]any)
	if s.Items != nil || len(list) > 0 {
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		out = append(out, d.fields(s.Items, first, append(slices.Clone(at), 0))...)
	}
	return out
}

// hole stands for the raw value in a body before it is encoded: not every hostile value is JSON.
const hole = "<<hole>>"

// put encodes base with the raw value at a place.
func put(base any, at []any, raw []byte) []byte {
	encoded, err := json.Marshal(replaced(base, at))
	if err != nil {
		panic(err)
	}
	mark, err := json.Marshal(hole)
	if err != nil {
		panic(err)
	}
	return bytes.Replace(encoded, mark, raw, 1)
}

// replaced returns a copy of base with hole at a place. It adds the objects and arrays on the way.
func replaced(base any, at []any) any {
	if len(at) == 0 {
		return hole
	}
	if name, ok := at[0].(string); ok {
		old, _ := base.(map[string]any)
		object := maps.Clone(old)
		if object == nil {
			object = map[string]any{}
		}
		object[name] = replaced(object[name], at[1:])
		return object
	}
	old, _ := base.([]any)
	list := slices.Clone(old)
	if len(list) == 0 {
		list = []any{nil}
	}
	list[0] = replaced(list[0], at[1:])
	return list
}
