package skill

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
)

// Styles of a package's folder and of `name:` in its SKILL.md.
const (
	Hyphen     = "hyphen"     // travel-planning: the Agent Skills specification, the default
	Underscore = "underscore" // travel_planning: MemOS
)

const unnamed = "unnamed-skill"

// reserved are names that Windows does not allow for files.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// Canonical is the name that identifies a skill in its workspace: lower-case
// letters and digits of any script, words joined by single hyphens, 1–64
// runes. It is its own canonical name.
func Canonical(name string) string {
	name = norm.NFKC.String(strings.ToLower(norm.NFKC.String(name)))
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	slug := strings.Trim(cut(strings.Join(words, "-"), maxCanonical), "-")
	if slug == "" {
		return unnamed
	}
	if reserved.MatchString(slug) {
		slug += "-skill"
	}
	return slug
}

// CheckName refuses a name that is not its own canonical name, and suggests one
// that is, in the hint and as Extra `suggestion`.
func CheckName(name string) error {
	suggestion := Canonical(name)
	if name == suggestion {
		return nil
	}
	message := fmt.Sprintf("%q is no name of a skill: names are lower-case letters and digits, words joined by "+
		"single hyphens, 1–%d characters", head(name, 2*maxCanonical), maxCanonical)
	return fault.New(fault.InvalidArgument, message, fmt.Sprintf("use %q", suggestion)).With("suggestion", suggestion)
}

// Numbered is the n-th name to try when a canonical name is taken, from 2.
func Numbered(canonical string, n int) string {
	suffix := "-" + strconv.Itoa(n)
	return strings.Trim(cut(canonical, maxCanonical-len(suffix)), "-") + suffix
}

// Folder is the top directory of the package and the `name:` of its SKILL.md.
// Any style but Underscore is Hyphen.
func Folder(canonical, style string) string {
	if style == Underscore {
		return strings.ReplaceAll(canonical, "-", "_")
	}
	return canonical
}
