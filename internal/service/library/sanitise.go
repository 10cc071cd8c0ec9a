package library

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/guard"
)

// sanitised is a stored text that is safe to put into a prompt. A text that
// would attack its reader becomes a line that names the rule, unless the version
// was accepted with all of what the scan finds.
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
