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

// Files collects the files of a skill. A file that breaks a rule is left out and recorded; the
// skill continues without it. The zero value is empty.
type Files struct {
	files      []File
	paths      map[string]bool // folded, because some file systems do not distinguish a.py from A.py
	bytes      int
	violations []string
}

// Add adds a file, or records the violation and returns false. Content gets LF newlines with
// exactly one at the end.
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

// Replace adds a file, and replaces the one with the same name, if there is one.
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

// List returns the files by path, in byte order.
func (f *Files) List() []File {
	return slices.SortedFunc(slices.Values(f.files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Violations returns the rejected files with reasons, without repetitions and in order.
func (f *Files) Violations() []string { return f.violations }

func (f *Files) violate(what string) bool {
	if !slices.Contains(f.violations, what) {
		f.violations = append(f.violations, what)
	}
	return false
}

// message returns the text of an error without its causes.
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

// CarryOver joins the existing files of a skill with new files, which replace those of the same
// name.
func CarryOver(kept, fresh []File) (files []File, violations []string) {
	var f Files
	for _, file := range slices.Concat(kept, fresh) {
		f.Replace(file)
	}
	return f.List(), f.Violations()
}

// CheckPlan returns the planned files that can be written, before a model writes them: names that
// CheckFile accepts, without repetitions, at most MaxPlanned.
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

// Attach combines a plan with the files that a model returned, by name. The result has the order of
// the plan, then returned files without a plan in byte order, MaxPlanned in all. A planned file
// that was not returned is degraded. A name that CheckFile rejects, or that differs from another
// only in case, is a violation. If a file was not returned, the code in the plan is used.
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

// returnedName returns the returned file for a planned name: the same name, or a name that
// CheckFile normalizes to the same.
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
