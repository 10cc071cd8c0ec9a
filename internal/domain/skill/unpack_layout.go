package skill

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// skillFolder returns the folder of the only SKILL.md: the top folder, or the root.
func skillFolder(members []member) (string, error) {
	const hint = "pack one skill: SKILL.md at the root of the zip, or in its only folder"
	var found []member
	for _, m := range members {
		if !m.junk() && fold(path.Base(m.name)) == "skill.md" {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return "", fault.New(fault.InvalidArgument, "the package has no SKILL.md", hint)
	}
	first := found[0]
	if len(found) > 1 {
		return "", first.refuse(fault.InvalidArgument,
			fmt.Sprintf("the package has another SKILL.md, %q", printable(found[1].name)), hint)
	}
	folder := path.Dir(first.name)
	switch {
	case path.Base(first.name) != "SKILL.md":
		return "", first.refuse(fault.InvalidArgument, "it must be spelled SKILL.md", "rename it")
	case folder == ".":
		return "", nil
	case strings.Contains(folder, "/"):
		return "", first.refuse(fault.InvalidArgument, "it is deeper than one folder", hint)
	}
	for _, m := range members {
		if !m.junk() && !strings.HasPrefix(m.name, folder+"/") {
			return "", m.refuse(fault.InvalidArgument,
				fmt.Sprintf("it is outside of the skill's folder %q", printable(folder)), hint)
		}
	}
	return folder, nil
}

// extra are the extensions that a package may have in addition to scripts and references. true
// marks extensions that are not text.
var extra = map[string]bool{"": false, ".csv": false, ".css": false, ".html": false, ".svg": false, ".xml": false,
	".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true, ".pdf": true}

// place returns the kind and name of a member, with an empty kind for a file that belongs only to
// the archive. inside is its path in the skill's folder.
func (m member) place(inside string) (kind, name string, err error) {
	folder, base := path.Split(inside)
	extension := strings.ToLower(path.Ext(base))
	binary, known := extra[extension]
	if !binary && (strings.ContainsRune(m.content, 0) || !utf8.ValidString(m.content)) {
		return "", "", m.refuse(fault.InvalidArgument, "it is not UTF-8 text", "save it as UTF-8, or leave it out")
	}
	switch folder {
	case "scripts/":
		kind = Scripts
	case "reference/", "references/":
		kind = Reference
	}
	if kind != "" && extension != "" {
		name, err := CheckFile(kind, base)
		if err != nil {
			return "", "", m.refuse(fault.InvalidArgument, message(err), fault.From(err).Hint)
		}
		return kind, name, nil
	}
	for part := range strings.SplitSeq(norm.NFC.String(inside), "/") {
		stem, _, _ := strings.Cut(strings.ToLower(part), ".")
		why := refusal(part)
		if why == "" && reserved.MatchString(stem) {
			why = "the name is reserved"
		}
		if why != "" {
			return "", "", m.refuse(fault.InvalidArgument, why,
				"use letters, digits, dot, hyphen and underscore; leave hidden files out")
		}
	}
	if !known && !extensions[extension] {
		return "", "", m.refuse(fault.InvalidArgument, fmt.Sprintf("the extension %q is not allowed", extension),
			"leave it out; text, pictures and PDF are allowed")
	}
	return "", "", nil
}
