package skill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Files collects the files of a skill. What breaks a rule is left out and
// recorded; the skill goes on without it. The zero value is empty.
type Files struct {
	files      []File
	paths      map[string]bool // folded: file systems do not tell a.py from A.py
	bytes      int
	violations []string
}

// Add takes a file, or records why not and reports false. Content becomes LF
// newlines with exactly one at the end.
func (f *Files) Add(kind, name, content string) bool {
	clean, err := CheckFile(kind, name)
	if err != nil {
		return f.violate(message(err))
	}
	path := kind + "/" + clean
	content = fileText(content)
	switch {
	case f.paths[fold(path)]:
		return f.violate(path + ": the name is taken by another file")
	case strings.ContainsRune(content, 0) || !utf8.ValidString(content):
		return f.violate(path + ": not text")
	case len(content) > MaxFile:
		return f.violate(fmt.Sprintf("%s: more than %d bytes", path, MaxFile))
	case len(f.files)+1 >= MaxFiles:
		return f.violate(fmt.Sprintf("%s: more than %d files", path, MaxFiles))
	case f.bytes+len(content) > MaxPackage-MaxSkillMD:
		return f.violate(fmt.Sprintf("%s: the package would exceed %d bytes", path, MaxPackage))
	}
	if f.paths == nil {
		f.paths = map[string]bool{}
	}
	f.paths[fold(path)] = true
	f.bytes += len(content)
	f.files = append(f.files, File{Path: path, Content: content})
	return true
}

// Replace takes a file in the place of the one of its name, if there is one.
func (f *Files) Replace(file File) bool {
	f.files = slices.DeleteFunc(f.files, func(old File) bool {
		same := fold(old.Path) == fold(file.Path)
		if same {
			f.bytes -= len(old.Content)
			delete(f.paths, fold(old.Path))
		}
		return same
	})
	return f.Add(file.Kind(), file.Name(), file.Content)
}

// List gives the files by path, in byte order.
func (f *Files) List() []File {
	return slices.SortedFunc(slices.Values(f.files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Violations says what was refused and why, each once, in order.
func (f *Files) Violations() []string { return f.violations }

func (f *Files) violate(what string) bool {
	if !slices.Contains(f.violations, what) {
		f.violations = append(f.violations, what)
	}
	return false
}

// message is the text of a refusal without its cause chain.
func message(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

func fileText(content string) string {
	content = strings.ReplaceAll(content, "\r\n", "\n")
	return strings.TrimRight(content, "\n") + "\n"
}

// CarryOver joins the files that a skill keeps with newly written ones, which
// replace those of the same name.
func CarryOver(kept, fresh []File) (files []File, violations []string) {
	var f Files
	for _, file := range slices.Concat(kept, fresh) {
		f.Replace(file)
	}
	return f.List(), f.Violations()
}

// CheckPlan keeps the planned files that may be written, before a model is
// asked to: names that pass CheckFile, each once, at most MaxPlanned.
func CheckPlan(plan []FilePlan, kind string) (kept []FilePlan, violations []string) {
	var f Files
	for _, p := range plan {
		if len(kept) == MaxPlanned {
			f.violate(fmt.Sprintf("%s/%s: more than %d files", kind, printable(p.File), MaxPlanned))
		} else if f.Add(kind, p.File, "") {
			p.File = f.files[len(f.files)-1].Name()
			kept = append(kept, p)
		}
	}
	return kept, f.Violations()
}

// Attach makes files of a plan and of what a model returned for it, by name.
// The plan's order wins; files returned but not planned follow in byte order,
// MaxPlanned in all. Planned and not returned is degraded; a name that breaks
// the rules of CheckFile, or differs from another only in case, is a
// violation. Code that the plan itself holds serves when nothing was returned.
func Attach(plan []FilePlan, returned map[string]string, kind string) (files []File, degraded, violations []string) {
	var f Files
	left := maps.Clone(returned)
	add := func(name, content string) {
		if len(f.files) == MaxPlanned {
			f.violate(fmt.Sprintf("%s/%s: more than %d files", kind, printable(name), MaxPlanned))
			return
		}
		f.Add(kind, name, content)
	}
	for _, p := range plan {
		name := returnedName(p.File, left, kind)
		content := left[name]
		delete(left, name)
		if content == "" {
			content = p.Code
		}
		if clean, err := CheckFile(kind, p.File); err == nil && strings.TrimSpace(content) == "" &&
			!f.paths[fold(kind+"/"+clean)] {
			degraded = append(degraded, kind+"/"+clean+": not returned")
			continue
		}
		add(p.File, content)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if strings.TrimSpace(left[name]) == "" {
			continue
		}
		add(name, left[name])
	}
	return f.files, degraded, f.Violations()
}

// returnedName finds the returned file that a planned name means: the same
// name, or else one that passes as the same.
func returnedName(planned string, returned map[string]string, kind string) string {
	if _, exact := returned[planned]; exact {
		return planned
	}
	want, err := CheckFile(kind, planned)
	if err != nil {
		return planned
	}
	for _, name := range slices.Sorted(maps.Keys(returned)) {
		if clean, err := CheckFile(kind, name); err == nil && clean == want {
			return name
		}
	}
	return planned
}
