package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
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

// DescribedSettings is the file with the descriptions of the settings that the program shows.
const DescribedSettings = "internal/domain/settings/described.json"

// describedSettings returns the descriptions of the settings as JSON.
func describedSettings(root string) ([]byte, error) {
	s := settingsRows{root: root, described: map[string]map[string]field{}}
	if err := s.add("", "", reflect.ValueOf(settings.DocumentOf(settings.Default()))); err != nil {
		return nil, err
	}
	slices.SortFunc(s.all, func(a, b settings.Description) int { return strings.Compare(a.Name, b.Name) })
	raw, err := json.MarshalIndent(s.all, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the descriptions of the settings: %w", err)
	}
	return append(raw, '\n'), nil
}

type settingsRows struct {
	root      string
	all       []settings.Description
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
	names := map[string]string{}
	for i := range t.NumField() {
		names[t.Field(i).Name], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		doc := cmp.Or(sentence(f.Name, described[t.Name()+"."+f.Name].doc, names), parent)
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
			kind := strings.Replace(typeName(f.Type), "switch", "boolean", 1)
			usual := ""
			if text := strings.Trim(string(raw), `"`); text != "null" { // else the text says it
				usual = quoted(text)
			}
			s.rows = append(s.rows, []string{quoted(path + name), kind, usual, doc})
			s.all = append(s.all, settings.Description{Name: path + name, Type: kind, Default: raw,
				Text: strings.ReplaceAll(doc, "`", "")})
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
	_, folder, _ := strings.Cut(pkg, "/internal/") // whatever the module's path is
	read, err := fields(filepath.Join(s.root, "internal", folder))
	s.described[pkg] = read
	return read, err
}

// goName is a capitalized word, which may be the name of a field.
var goName = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// sentence removes the name of the field and "is" or "are" from the beginning of its comment: "Every
// is the number of turns" becomes "The number of turns". It replaces names of other fields with
// their names in JSON.
func sentence(name, doc string, names map[string]string) string {
	doc, named := strings.CutPrefix(doc, name+" ")
	if named {
		doc = strings.TrimPrefix(strings.TrimPrefix(doc, "is "), "are ")
	}
	if doc == "" {
		return ""
	}
	doc = goName.ReplaceAllStringFunc(doc, func(word string) string {
		if json := names[word]; json != "" && json != "-" {
			return quoted(json)
		}
		return word
	})
	return strings.ToUpper(doc[:1]) + doc[1:]
}
