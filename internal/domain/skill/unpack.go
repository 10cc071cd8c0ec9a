package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/fence"
)

// UnpackedPackage is an uploaded package whose archive was checked. Its texts are not checked:
// Markdown and Extra exist so that a scan covers the whole package. The caller keeps the bytes of
// the archive, and returns them unchanged on download.
type UnpackedPackage struct {
	Folder   string   // the top folder; empty if SKILL.md is at the root
	Document Document // lists exactly the files of the package
	Files    []File   // scripts/… and reference/…, by path
	// Extra holds the other files, by path: assets, licenses, nested folders, shadow files. See
	// Carried.
	Extra    []File
	Markdown string   // the original SKILL.md, including parts that Document omits, such as HTML comments
	Notes    []string // parts that were read differently from how they were written
}

// maxRepeats is the maximum number of sections with one title. Parsing time is quadratic in it.
const maxRepeats = 8

// newlines converts all newlines to LF, as in the files of a skill.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Unpack reads the zip of a skill: SKILL.md at the root or in the only top folder, files in
// scripts/ and in reference/ or references/. It repairs and cuts nothing. A package that breaks a
// rule of a package is rejected with a *fault.Error that names the member:
// TooLarge for a size, InvalidArgument otherwise. It needs memory for at most three times
// MaxPackage, whatever the archive claims.
func Unpack(archive []byte) (UnpackedPackage, error) {
	u, err := sortOut(archive)
	if err != nil {
		return u, err
	}
	return u, u.read()
}

// sortOut assigns each member of an archive to its place.
func sortOut(archive []byte) (UnpackedPackage, error) {
	members, err := readMembers(archive)
	if err != nil {
		return UnpackedPackage{}, err
	}
	folder, err := skillFolder(members)
	if err != nil {
		return UnpackedPackage{}, err
	}
	u := UnpackedPackage{Folder: folder}
	var files Files
	for _, m := range members {
		inside := m.name
		if folder != "" {
			inside = strings.TrimPrefix(m.name, folder+"/")
		}
		if kind := m.program(); kind != "" {
			return UnpackedPackage{}, m.refuse(fault.InvalidArgument, "it is a compiled program ("+kind+")",
				"leave it out; ship its source as a script")
		}
		if m.junk() {
			u.Extra = append(u.Extra, File{Path: inside, Content: m.content})
			continue
		}
		if inside == "SKILL.md" {
			u.Markdown = m.content
			continue
		}
		kind, name, err := m.place(inside)
		switch {
		case err != nil:
			return UnpackedPackage{}, err
		case kind == "":
			u.Extra = append(u.Extra, File{Path: inside, Content: m.content})
		case files.paths[fold(kind+"/"+name)]:
			return UnpackedPackage{}, m.refuse(fault.InvalidArgument, "another member has this name",
				"use a unique name for each file; reference/ and references/ are one folder")
		case !files.Add(kind, name, newlines.Replace(m.content)):
			return UnpackedPackage{}, m.refuse(fault.TooLarge, files.Violations()[0], "")
		}
	}
	u.Files = files.List()
	slices.SortFunc(u.Extra, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return u, nil
}

// read parses Markdown to the document.
func (u *UnpackedPackage) read() error {
	refuse := func(code fault.Code, why, hint string) error { return fault.New(code, "SKILL.md: "+why, hint) }
	if len(u.Markdown) > MaxSkillMD {
		return refuse(fault.TooLarge, fmt.Sprintf("%d bytes, at most %d are allowed", len(u.Markdown), MaxSkillMD),
			"move details to reference files")
	}
	if !utf8.ValidString(u.Markdown) || strings.ContainsRune(u.Markdown, 0) {
		return refuse(fault.InvalidArgument, "it is not UTF-8 text", "save it as UTF-8")
	}
	if title := repeated(u.Markdown); title != "" {
		return refuse(fault.InvalidArgument, fmt.Sprintf("more than %d sections are called %q", maxRepeats,
			printable(title)), "merge them")
	}
	document, err := ParseDocument([]byte(u.Markdown))
	if err != nil {
		return fault.Wrap(err, fault.CodeOf(err), "SKILL.md", fault.From(err).Hint)
	}
	if n := utf8.RuneCountInString(document.Name); n > MaxName {
		return refuse(fault.InvalidArgument, fmt.Sprintf("name has %d characters, at most %d are allowed", n, MaxName),
			"shorten `name:` in the frontmatter")
	}
	listed := document
	u.Document = document.WithFiles(u.Files)
	for kind, names := range map[string][2][]string{Scripts: {listed.Scripts, u.Document.Scripts},
		Reference: {listed.References, u.Document.References}} {
		for _, name := range names[0] {
			if !slices.Contains(names[1], name) {
				u.Notes = append(u.Notes, fmt.Sprintf("SKILL.md lists %s/%s, which is not in the package", kind,
					name))
			}
		}
	}
	slices.Sort(u.Notes)
	if err := u.Document.Check(); err != nil {
		return refuse(fault.InvalidArgument, message(err),
			"start it with frontmatter with name and description, then a body")
	}
	return nil
}

// repeated returns the title of a section that occurs too often.
func repeated(markdown string) string {
	seen := map[string]int{}
	var code fence.Scanner
	for line := range strings.SplitSeq(newlines.Replace(markdown), "\n") {
		if code.Line(line) {
			continue
		}
		if level, title := heading(line); level == 2 {
			if seen[fold(title)]++; seen[fold(title)] > maxRepeats {
				return title
			}
		}
	}
	return ""
}
