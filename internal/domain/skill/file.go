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

// Kinds of files, which are the folders of a package.
const (
	Scripts   = "scripts"
	Reference = "reference" // Cairn's spelling; other packages may use references
)

// File is one file of a skill in addition to its SKILL.md.
type File struct {
	Path    string `json:"path"` // scripts/x.py or reference/y.md
	Content string `json:"content"`
}

// Kind returns Scripts or Reference.
func (f File) Kind() string { return path.Dir(f.Path) }

// Name returns the file's name in its folder, as accepted by CheckFile.
func (f File) Name() string { return path.Base(f.Path) }

// extensions that a skill may contain. A name without an extension gets that of its kind.
var extensions = map[string]bool{".py": true, ".sh": true, ".js": true, ".ts": true, ".md": true, ".json": true,
	".yaml": true, ".yml": true, ".txt": true, ".toml": true, ".sql": true}

var ownExtension = map[string]string{Scripts: ".py", Reference: ".md"}

// ownFolder matches the only path prefix that a name may have: its folder.
var ownFolder = map[string]*regexp.Regexp{
	Scripts:   regexp.MustCompile(`^(\./)?scripts/`),
	Reference: regexp.MustCompile(`^(\./)?references?/`),
}

// CheckFile checks a file name from a model or a package, and returns the reason for a rejection.
// It does not repair names: it only removes the folder of the kind
// and adds a missing extension. kind is Scripts or Reference.
func CheckFile(kind, name string) (clean string, err error) {
	folder, known := ownFolder[kind]
	if !known {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("unknown kind of file %q", kind),
			"use scripts or reference")
	}
	clean = norm.NFC.String(folder.ReplaceAllString(name, ""))
	if reason := refusal(clean); reason != "" {
		return "", invalidName(kind, name, reason)
	}
	if !strings.Contains(clean, ".") {
		clean += ownExtension[kind]
	}
	extension := strings.ToLower(path.Ext(clean))
	stem := strings.ToLower(strings.TrimSuffix(clean, path.Ext(clean)))
	switch {
	case !extensions[extension]:
		return "", invalidName(kind, name, fmt.Sprintf("the extension %q is not allowed", extension))
	case reserved.MatchString(stem):
		return "", invalidName(kind, name, "the name is reserved")
	case fold(clean) == "skill.md":
		return "", invalidName(kind, name, "a package has one SKILL.md")
	case utf8.RuneCountInString(clean) > MaxFileName || !filepath.IsLocal(clean):
		return "", invalidName(kind, name, "the name is too long")
	}
	return clean, nil
}

// refusal returns the problem with a name's characters, empty if there is none.
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

func invalidName(kind, name, reason string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("%s/%s: %s", kind, printable(name), reason),
		"use letters, digits, dot, hyphen and underscore, such as check_input.py")
}

// printable shortens a hostile name for messages and logs.
func printable(name string) string {
	quoted := fmt.Sprintf("%q", cut(name, MaxFileName))
	return quoted[1 : len(quoted)-1]
}
