package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cairn/internal/domain/settings"
)

// settingsPage describes the settings of a workspace.
func settingsPage(p *page, root string) error {
	p.heading(1, "Workspace settings")
	p.paragraph("Each workspace has its own settings. `cairn settings show` prints them, and `cairn settings set " +
		"nudge.every=5` changes them. Over HTTP, use GET and PATCH `/v1/settings`. To restore a default, use " +
		"`cairn settings set nudge.every=default`, or send `null`.")
	s := settingsRows{root: root, described: map[string]map[string]field{}}
	document := settings.DocumentOf(settings.Default())
	if err := s.add("", "", reflect.ValueOf(document)); err != nil {
		return err
	}
	slices.SortFunc(s.rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	p.table([]string{"Setting", "Type", "Default", "Description"}, s.rows)
	return nil
}

type settingsRows struct {
	root      string
	described map[string]map[string]field // by package path
	rows      [][]string
}

// add appends a row for each leaf of v. A leaf without a comment has that of its parent.
func (s *settingsRows) add(path, parent string, v reflect.Value) error {
	t := v.Type()
	described, err := s.fields(t.PkgPath())
	if err != nil {
		return err
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		doc := cmp.Or(sentence(f.Name, described[t.Name()+"."+f.Name].doc), parent)
		switch {
		case f.Anonymous:
			err = s.add(path, parent, v.Field(i))
		case name == "-" || name == "":
		case f.Type.Kind() == reflect.Struct:
			err = s.add(path+name+".", doc, v.Field(i))
		default:
			raw, failed := json.Marshal(v.Field(i).Interface())
			if failed != nil {
				return fmt.Errorf("encode %s: %w", path+name, failed)
			}
			value := strings.Trim(string(raw), `"`)
			s.rows = append(
				s.rows,
				[]string{quoted(path + name), strings.Replace(typeName(f.Type), "switch", "boolean", 1),
					quoted(value), described[t.Name()+"."+f.Name].doc},
			)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *settingsRows) fields(pkg string) (map[string]field, error) {
	if known, ok := s.described[pkg]; ok {
		return known, nil
	}
	read, err := fields(filepath.Join(s.root, strings.TrimPrefix(pkg, "cairn/")))
	s.described[pkg] = read
	return read, err
}

// sentence removes the name of the field and "is" or "are" from the beginning of its comment: "Every
// is the number of turns" becomes "The number of turns".
func sentence(name, doc string) string {
	if rest, ok := strings.CutPrefix(doc, name+" "); ok {
		doc = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:]
}
