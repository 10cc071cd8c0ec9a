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

// reserved are file names that Windows does not allow.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// Canonical returns the name that identifies a skill in its workspace: lower-case letters and
// digits of any script, words joined by single hyphens, 1–64 runes. Canonical of a canonical name
// is the same name.
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

// CheckName rejects a name that is not canonical. It suggests the canonical form in the hint and as
// Extra `suggestion`.
func CheckName(name string) error {
	suggestion := Canonical(name)
	if name == suggestion {
		return nil
	}
	message := fmt.Sprintf("invalid skill name %q: use lower-case letters and digits, words joined by "+
		"single hyphens, 1–%d characters", head(name, 2*maxCanonical), maxCanonical)
	return fault.New(fault.InvalidArgument, message, fmt.Sprintf("use %q", suggestion)).With("suggestion", suggestion)
}

// Numbered returns the n-th alternative, from 2, for a canonical name that is taken.
func Numbered(canonical string, n int) string {
	suffix := "-" + strconv.Itoa(n)
	return strings.Trim(cut(canonical, maxCanonical-len(suffix)), "-") + suffix
}

// Folder returns the top folder of the package and the `name:` of its SKILL.md. Every style except
// Underscore is Hyphen.
func Folder(canonical, style string) string {
	if style == Underscore {
		return strings.ReplaceAll(canonical, "-", "_")
	}
	return canonical
}
