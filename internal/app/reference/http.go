package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// document is the part of an OpenAPI document that the page shows.
type document struct {
	Tags []struct {
		Name, Description string
	}
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Summary, Description string
	Tags                 []string
	Security             []map[string][]string
	Parameters           []parameter
	RequestBody          *struct{ Content map[string]media }
	Responses            map[string]struct{ Description string }
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
}

type media struct{ Schema schema }

type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	OneOf       []schema
	Description string
	Properties  map[string]schema
	Required    []string
	Items       *schema
	Enum        []any
	Default     any
}

// httpMethods are the methods in the order of the page.
var httpMethods = []string{"get", "post", "put", "patch", "delete"}

// httpPage describes the routes of the HTTP API.
func httpPage(p *page, root string) error {
	raw, err := os.ReadFile(filepath.Join(root, "schemas/openapi.json"))
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	p.heading(1, "HTTP API")
	p.paragraph("This page lists the routes. `schemas/openapi.json`, which a gateway serves at `/openapi.json`, also " +
		"has all response schemas.")
	p.paragraph(
		"Send an API key in the header `Authorization: Bearer cairn_…`. The key selects the workspace and has " +
			"scopes: `admin` includes `write`, and `write` includes `read`. Routes without a scope need no key.",
	)
	p.paragraph(
		"An error response has the status and the code of [errors](errors.md). The column Responses lists the " +
			"other statuses.",
	)
	bodies := map[string]bool{}
	for _, tag := range d.Tags {
		p.heading(2, strings.ToUpper(tag.Name[:1])+tag.Name[1:])
		p.paragraph(strings.TrimSuffix(tag.Description, ".") + ".")
		p.table([]string{"Route", "Summary", "Scope", "Parameters", "Body", "Responses"}, d.routes(tag.Name, bodies))
	}
	p.heading(2, "Request bodies")
	for _, name := range d.reachable(bodies) {
		p.heading(3, name)
		p.paragraph(d.Components.Schemas[name].Description)
		p.table([]string{"Field", "Type", "Required", "Description"}, d.Components.Schemas[name].rows())
	}
	return nil
}

// routes returns the rows of a tag and adds the schemas of request bodies to bodies.
func (d document) routes(tag string, bodies map[string]bool) (rows [][]string) {
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range httpMethods {
			o, there := d.Paths[path][method]
			if !there || !slices.Contains(o.Tags, tag) {
				continue
			}
			var parameters, body, statuses []string
			for _, one := range o.Parameters {
				text := quoted(one.Name)
				if one.Required && one.In != "path" {
					text += " (required)"
				}
				parameters = append(parameters, text)
			}
			if o.RequestBody != nil {
				for _, kind := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
					s := o.RequestBody.Content[kind].Schema
					if name := s.name(); name != "" {
						bodies[name] = true
						kind = "[" + name + "](#" + strings.ToLower(name) + ")"
					}
					body = append(body, kind)
				}
			}
			for status := range o.Responses {
				if status != "default" {
					statuses = append(statuses, status)
				}
			}
			slices.Sort(statuses)
			rows = append(rows, []string{quoted(strings.ToUpper(method) + " " + path), o.Summary, scope(o),
				strings.Join(parameters, ", "), strings.Join(body, ", "), strings.Join(statuses, ", ")})
		}
	}
	return rows
}

func scope(o operation) string {
	for _, requirement := range o.Security {
		for _, scopes := range requirement {
			return strings.Join(scopes, ", ")
		}
	}
	return ""
}

func (s schema) name() string {
	_, name, _ := strings.Cut(s.Ref, "#/components/schemas/")
	return name
}

// reachable lists the named schemas and those that their fields refer to.
func (d document) reachable(names map[string]bool) []string {
	var visit func(schema)
	visit = func(s schema) {
		if name := s.name(); name != "" && !names[name] {
			names[name] = true
			visit(d.Components.Schemas[name])
		}
		for _, one := range s.Properties {
			visit(one)
		}
		if s.Items != nil {
			visit(*s.Items)
		}
	}
	for _, name := range slices.Collect(maps.Keys(names)) {
		visit(d.Components.Schemas[name])
	}
	return slices.Sorted(maps.Keys(names))
}

// rows describes the fields of an object.
func (s schema) rows() (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		one := s.Properties[name]
		if name == "$schema" {
			continue
		}
		required := "no"
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		rows = append(rows, []string{quoted(name), one.kind(), required, one.text()})
	}
	return rows
}

// kind names the type of a field.
func (s schema) kind() string {
	if name := s.name(); name != "" {
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	if s.Items != nil {
		return "list of " + s.Items.kind()
	}
	if many, ok := s.Type.([]any); ok {
		var names []string
		for _, one := range many {
			if one != "null" {
				names = append(names, fmt.Sprint(one))
			}
		}
		return strings.Join(names, " or ")
	}
	if len(s.OneOf) > 0 {
		var names []string
		for _, one := range s.OneOf {
			names = append(names, one.kind())
		}
		return strings.Join(names, " or ")
	}
	if s.Type == nil {
		return "any"
	}
	return fmt.Sprint(s.Type)
}

// text is the description of a field with its values and its default.
func (s schema) text() string {
	out := s.Description
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, quoted(fmt.Sprint(v)))
		}
		out += " One of " + strings.Join(values, ", ") + "."
	}
	if s.Default != nil {
		out += " Default " + quoted(fmt.Sprint(s.Default)) + "."
	}
	return strings.TrimSpace(out)
}
