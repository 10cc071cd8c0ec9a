package skill

import (
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Extra is a file of a package that is neither SKILL.md nor a script or a reference: an asset, a
// license, a picture. Its bytes are only in the package, and are copied from each version's package
// to the next.
type Extra struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	SHA   SHA    `json:"sha256"`
}

// Extras lists files by path, as a version records them.
func Extras(files []File) []Extra {
	var out []Extra
	for _, f := range files {
		out = append(out, Extra{Path: f.Path, Bytes: len(f.Content), SHA: sha256.Sum256([]byte(f.Content))})
	}
	slices.SortFunc(out, func(a, b Extra) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Carried returns the files of Extra that later packages keep: all except those added by operating
// systems.
func (u UnpackedPackage) Carried() []File {
	return slices.DeleteFunc(slices.Clone(u.Extra), func(f File) bool { return member{name: f.Path}.junk() })
}

// ReadExtras returns the extra files of a version's package.
func ReadExtras(archive []byte) ([]File, error) {
	u, err := sortOut(archive)
	if err != nil {
		return nil, fmt.Errorf("read the package of the previous version: %w", err)
	}
	return u.Carried(), nil
}

// CarryExtras returns the extra files that fit next to a skill's files, and a violation for each
// one that does not. The skill's files have priority.
func CarryExtras(files, extra []File) (kept []File, violations []string) {
	all := newMembers(files)
	for _, f := range extra {
		if why := all.add(f); why != "" {
			violations = append(violations, f.Path+": "+why)
			continue
		}
		kept = append(kept, f)
	}
	return kept, violations
}

// members are the files of a package in progress.
type members struct {
	files, folders map[string]bool // folded paths
	bytes          int
}

func newMembers(files []File) *members {
	m := &members{files: map[string]bool{"skill.md": true}, folders: map[string]bool{}}
	for _, f := range files {
		m.take(f)
	}
	return m
}

func (m *members) take(f File) {
	m.files[fold(f.Path)] = true
	for folder := path.Dir(f.Path); folder != "."; folder = path.Dir(folder) {
		m.folders[fold(folder)] = true
	}
	m.bytes += len(f.Content)
}

// add adds an extra file, or returns the reason why it cannot.
func (m *members) add(f File) string {
	switch {
	case !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || strings.Contains(f.Path, `\`):
		return "the path leaves the package"
	case m.files[fold(f.Path)] || m.folders[fold(f.Path)] || m.below(f.Path):
		return "the name is taken by another file"
	case len(f.Content) > MaxFile:
		return fmt.Sprintf("more than %d bytes", MaxFile)
	case len(m.files) >= MaxFiles:
		return fmt.Sprintf("more than %d files", MaxFiles)
	case m.bytes+len(f.Content) > MaxPackage-MaxSkillMD:
		return fmt.Sprintf("the package would exceed %d bytes", MaxPackage)
	}
	m.take(f)
	return ""
}

// below reports whether a path needs a folder where a file is.
func (m *members) below(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if m.files[fold(folder)] {
			return true
		}
	}
	return false
}

// checkExtras rejects extra files that a package cannot contain.
func checkExtras(files, extra []File) error {
	if _, violations := CarryExtras(files, extra); len(violations) > 0 {
		return fault.New(fault.InvalidArgument, violations[0], "")
	}
	return nil
}
