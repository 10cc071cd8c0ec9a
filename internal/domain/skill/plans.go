package skill

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const maxPurpose = 500 // in runes; a purpose is one line

// files reads tools, scripts and other documents, unless the mode excludes them.
func (f *fields) files(d *Draft, mode string) {
	if mode == Simple {
		for _, name := range []string{"tools", "tool", "scripts", "script", "others", "other"} {
			if f.take(name) != nil {
				f.note("%s: ignored in simple mode", name)
			}
		}
		return
	}
	d.Tools = f.list("tools", MaxItems, 0, "tools", "tool")
	scripts := f.plans("scripts", ".py", mode, f.take("scripts", "script"))
	others := f.plans("others", ".md", mode, f.take("others", "other"))
	for _, p := range scripts {
		d.Scripts = append(d.Scripts, p.FilePlan)
	}
	for _, p := range others {
		if p.inline {
			d.Inline = append(d.Inline, Entry{p.File, p.Code})
		} else {
			d.Others = append(d.Others, p.FilePlan)
		}
	}
}

// plan is a FilePlan. With inline it is an entry: File is its key, and Code its text.
type plan struct {
	FilePlan
	inline bool
}

// plans reads a list of file plans in all accepted forms: objects, strings, one string, or an
// object from file names to plans or finished texts.
func (f *fields) plans(field, extension, mode string, value any) []plan {
	var list []plan
	switch value := value.(type) {
	case nil:
	case string:
		if !isNothing(value) {
			list = append(list, sentencePlan(value, extension))
		}
	case []any:
		for i, item := range value {
			switch item := item.(type) {
			case nil:
			case string:
				if !isEmpty(item) {
					list = append(list, sentencePlan(item, extension))
				}
			case map[string]any:
				list = append(list, f.objectPlans(field, extension, mode, item)...)
			default:
				f.fault("%s[%d]: want an object with file and purpose, got %s", field, i, kindOf(item))
			}
		}
	case map[string]any:
		list = f.objectPlans(field, extension, mode, value)
	default:
		f.fault("%s: want a list of objects with file and purpose, got %s", field, kindOf(value))
	}
	if len(list) > MaxPlanned {
		f.note("%s: %d entries, the first %d are kept", field, len(list), MaxPlanned)
		list = list[:MaxPlanned]
	}
	return list
}

// planKeys distinguish an object that is a plan from an object of file names.
var planKeys = []string{"file", "filename", "name", "path", "title", "key", "purpose", "brief"}

// objectPlans reads one plan, or MemOS' object from names to text.
func (f *fields) objectPlans(field, extension, mode string, object map[string]any) []plan {
	entry := newFields(object)
	if slices.ContainsFunc(planKeys, func(key string) bool { _, ok := entry.object[key]; return ok }) {
		return []plan{f.onePlan(field, extension, entry)}
	}
	var list []plan
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner, ok := object[name].(map[string]any); ok {
			nested := newFields(inner)
			nested.object["file"] = name
			list = append(list, f.onePlan(field, extension, nested))
			continue
		}
		text, ok := plain(object[name])
		if !ok && object[name] != nil {
			f.fault("%s[%q]: want a string, got %s", field, cut(name, MaxFileName), kindOf(object[name]))
			continue
		}
		list = append(list, namedPlan(field, name, text, mode))
	}
	return list
}

// namedPlan reads one entry of an object from names to text. In full mode, a single line is the
// plan of a file. In MemOS' simple mode, or with several lines, it is the content of the file. In a
// list of documents, a key that is not a file name is an inline entry.
func namedPlan(field, name, text, mode string) plan {
	if field == "others" && !strings.Contains(name, ".") {
		return plan{FilePlan{File: headingText(name), Code: text}, true}
	}
	if mode == SimpleKeep || strings.Contains(text, "\n") {
		return plan{FilePlan: FilePlan{File: name, Code: text}}
	}
	return plan{FilePlan: FilePlan{File: name, Purpose: cut(text, maxPurpose)}}
}

func (f *fields) onePlan(field, extension string, entry *fields) plan {
	p := FilePlan{
		File:    fileLine(entry.take("file", "filename", "name", "path")),
		Purpose: cut(joined(entry.take("purpose", "brief", "description")), maxPurpose),
		Inputs:  cut(joined(entry.take("inputs", "input")), maxPurpose),
		Outputs: cut(joined(entry.take("outputs", "output")), maxPurpose),
	}
	p.Code, _ = plain(entry.take("code", "content", "text"))
	title := joined(entry.take("title", "key"))
	switch {
	case p.File != "":
	case field == "others" && title != "" && p.Code != "":
		return plan{FilePlan{File: headingText(title), Code: p.Code}, true}
	case title != "":
		p.File = fileName(title, extension)
	case p.Purpose != "":
		p.File = fileName(p.Purpose, extension)
	default:
		f.fault("%s: an entry has neither file nor purpose", field)
	}
	return plan{FilePlan: p}
}

var namedSentence = regexp.MustCompile("^`?([\\pL\\pN._/\\\\-]+\\.[A-Za-z0-9]{1,5})`?\\s*(?:[:：,—–-]+\\s*(.*))?$")

// sentencePlan reads a plan that is one sentence, such as `check.py: probe the URL`.
func sentencePlan(text, extension string) plan {
	text = cut(collapse(clean(text)), maxPurpose)
	if m := namedSentence.FindStringSubmatch(text); m != nil {
		return plan{FilePlan: FilePlan{File: m[1], Purpose: m[2]}}
	}
	return plan{FilePlan: FilePlan{File: fileName(text, extension), Purpose: text}}
}

const maxDerivedName = 40 // runes of a file name that is derived from a purpose

// fileName returns a name for a file that was planned without one.
func fileName(purpose, extension string) string {
	stem := Folder(Canonical(cut(purpose, maxDerivedName)), Underscore)
	return stem + extension
}

// fileLine returns a file's name as given. CheckFile checks it later.
func fileLine(value any) string {
	if name, ok := value.(string); ok {
		return strings.TrimSpace(name)
	}
	text, _ := plain(value)
	return text
}

// joined returns a text or a list of texts as one line.
func joined(value any) string {
	if list, ok := value.([]any); ok {
		var parts []string
		for _, item := range list {
			parts = append(parts, joined(item))
		}
		return collapse(strings.Join(parts, ", "))
	}
	if text, ok := plain(value); ok {
		return collapse(text)
	}
	if value == nil {
		return ""
	}
	return collapse(fmt.Sprint(value))
}

// removals reads what an update removes: exact texts, or objects with field and reason.
func (f *fields) removals() []Removal {
	value := f.take("removed")
	items, ok := value.([]any)
	if !ok && value != nil {
		items = []any{value}
	}
	var list []Removal
	for i, item := range items {
		if object, ok := item.(map[string]any); ok {
			entry := newFields(object)
			r := Removal{Field: strings.ToLower(joined(entry.take("field"))), Reason: joined(entry.take("reason"))}
			r.Item, _ = plain(entry.take("item", "value", "text"))
			if r.Item != "" {
				list = append(list, r)
			}
			continue
		}
		text, ok := plain(item)
		if !ok && item != nil {
			f.fault("removed[%d]: want a string, got %s", i, kindOf(item))
		} else if text != "" && !isNothing(text) {
			list = append(list, Removal{Item: text})
		}
	}
	return list
}
