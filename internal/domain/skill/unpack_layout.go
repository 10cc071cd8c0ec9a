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

// assets are the extensions of inert files, which may be in every folder: schemas, fonts, office files and
// archives. They are not unpacked, run or shown to a model. true marks extensions that are not text.
var assets = map[string]bool{
	".xsd":   false,
	".xsl":   false,
	".dtd":   false,
	".ttf":   true,
	".otf":   true,
	".ttc":   true,
	".woff":  true,
	".woff2": true,
	".eot":   true,
	".docx":  true,
	".docm":  true,
	".dotx":  true,
	".doc":   true,
	".xlsx":  true,
	".xlsm":  true,
	".xltx":  true,
	".xls":   true,
	".pptx":  true,
	".pptm":  true,
	".potx":  true,
	".ppt":   true,
	".odt":   true,
	".ods":   true,
	".odp":   true,
	".rtf":   true,
	".zip":   true,
	".tar":   true,
	".gz":    true,
	".tgz":   true,
	".bz2":   true,
	".xz":    true,
	".zst":   true,
	".7z":    true,
}

// Binary reports whether a file of a package is not text, by its extension.
func Binary(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extra[extension] || assets[extension]
}

// programs are the first bytes of compiled programs: ELF, PE, and Mach-O of both byte orders and universal.
var programs = []struct{ kind, magic string }{{"ELF", "\x7fELF"}, {"PE", "MZ"}, {"Mach-O", "\xfe\xed\xfa\xce"},
	{"Mach-O", "\xfe\xed\xfa\xcf"}, {"Mach-O", "\xce\xfa\xed\xfe"}, {"Mach-O", "\xcf\xfa\xed\xfe"},
	{"Mach-O", "\xca\xfe\xba\xbe\x00\x00\x00"}, {"Mach-O", "\xca\xfe\xba\xbf\x00\x00\x00"},
	{"Mach-O", "\xbe\xba\xfe\xca"}, {"Mach-O", "\xbf\xba\xfe\xca"}}

// program returns the kind of a compiled program, or nothing for other content. A text that starts with MZ is
// not a program.
func (m member) program() string {
	for _, p := range programs {
		if strings.HasPrefix(m.content, p.magic) && (p.kind != "PE" || !utf8.ValidString(m.content) ||
			strings.ContainsRune(m.content, 0)) {
			return p.kind
		}
	}
	return ""
}

// place returns the kind and name of a member, with an empty kind for a file that belongs only to
// the archive. inside is its path in the skill's folder.
func (m member) place(inside string) (kind, name string, err error) {
	folder, base := path.Split(inside)
	extension := strings.ToLower(path.Ext(base))
	binary, known := extra[extension]
	inertBinary, inert := assets[extension]
	binary, known = binary || inertBinary, known || inert
	if !binary && (strings.ContainsRune(m.content, 0) || !utf8.ValidString(m.content)) {
		return "", "", m.refuse(fault.InvalidArgument, "it is not UTF-8 text", "save it as UTF-8, or leave it out")
	}
	switch folder {
	case "scripts/":
		kind = Scripts
	case "reference/", "references/":
		kind = Reference
	}
	if kind != "" && extension != "" && !inert {
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
			"leave it out; text, pictures, PDF, fonts, office files and archives are allowed")
	}
	return "", "", nil
}
