package library

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/guard"
)

// sanitised returns a stored text that is safe for a prompt. A text with an injection attempt is
// replaced by a line that names the rule, unless all findings were accepted with the version.
func sanitised(id int64, text string, accepted []string) (safe string, bad bool) {
	safe, finding := guard.Sanitize("skills", fmt.Sprint(id), text)
	if finding == nil {
		return safe, false
	}
	for _, f := range guard.Scan(text, guard.Strict) {
		known := slices.ContainsFunc(accepted, func(risk string) bool { return strings.HasSuffix(risk, "("+f.ID+")") })
		if f.Severity == guard.Dangerous && !known {
			return safe, true
		}
	}
	return text, false
}
