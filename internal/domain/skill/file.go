package skill

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Kinds of files: the folders of a package.
const (
	Scripts   = "scripts"
	Reference = "reference" // written so; packages of others may say references
)

// File is one file of a skill beside its SKILL.md.
type File struct {
	Path    string `json:"path"` // scripts/x.py or reference/y.md
	Content string `json:"content"`
}

// Kind is Scripts or Reference.
func (f File) Kind() string { return path.Dir(f.Path) }

// Name is the file's name in its folder, as CheckFile passed it.
func (f File) Name() string { return path.Base(f.Path) }

// extensions that a skill may carry. A name without any gets its kind's own.
var extensions = map[string]bool{".py": true, ".sh": true, ".js": true, ".ts": true, ".md": true, ".json": true,
	".yaml": true, ".yml": true, ".txt": true, ".toml": true, ".sql": true}

var ownExtension = map[string]string{Scripts: ".py", Reference: ".md"}

// ownFolder is the one path that a name may be written with: its folder.
var ownFolder = map[string]*regexp.Regexp{
	Scripts:   regexp.MustCompile(`^(\./)?scripts/`),
	Reference: regexp.MustCompile(`^(\./)?references?/`),
}

// CheckFile passes a file name that came from a model or a package, or says
// why it is refused (spec/skill-memory.md §1.10). A bad name is never mended
// into a good one; only the kind's own folder before it is taken off and a
// missing extension added. kind is Scripts or Reference.
func CheckFile(kind, name string) (clean string, err error) {
	folder, known := ownFolder[kind]
	if !known {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no kind of file", kind),
			"use scripts or reference")
	}
	clean = norm.NFC.String(folder.ReplaceAllString(name, ""))
	if reason := refusal(clean); reason != "" {
		return "", refused(kind, name, reason)
	}
	if !strings.Contains(clean, ".") {
		clean += ownExtension[kind]
	}
	extension := strings.ToLower(path.Ext(clean))
	stem := strings.ToLower(strings.TrimSuffix(clean, path.Ext(clean)))
	switch {
	case !extensions[extension]:
		return "", refused(kind, name, fmt.Sprintf("the extension %q is not allowed", extension))
	case reserved.MatchString(stem):
		return "", refused(kind, name, "the name is reserved")
	case fold(clean) == "skill.md":
		return "", refused(kind, name, "a package has one SKILL.md")
	case utf8.RuneCountInString(clean) > MaxFileName || !filepath.IsLocal(clean):
		return "", refused(kind, name, "the name is too long")
	}
	return clean, nil
}

// refusal says what is wrong with a name's letters, empty when nothing is.
func refusal(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.ContainsAny(name, `/\`):
		return "a path is not allowed"
	case strings.HasPrefix(name, "."):
		return "a leading dot is not allowed"
	case strings.Contains(name, ".."):
		return "two dots are not allowed"
	case utf8.RuneCountInString(name) > MaxFileName:
		return fmt.Sprintf("longer than %d characters", MaxFileName)
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._-", r) {
			return fmt.Sprintf("the character %q is not allowed", r)
		}
	}
	return ""
}

func refused(kind, name, reason string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("%s/%s: %s", kind, printable(name), reason),
		"use letters, digits, dot, hyphen and underscore, such as check_input.py")
}

// printable shortens a hostile name for messages and records.
func printable(name string) string {
	quoted := fmt.Sprintf("%q", cut(name, MaxFileName))
	return quoted[1 : len(quoted)-1]
}
