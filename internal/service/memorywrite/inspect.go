package memorywrite

import (
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/metrics"
)

// Inspect scans text before it is stored; what names the text in messages. If the text contains a
// secret or an attack, Inspect returns an error. Its findings name rules and lines, never the text.
// Findings that also match honest text are returned in risk, one line each.
func Inspect(what, text string) (risk []string, err error) {
	report := guard.CheckSkill(map[string]string{what: text}, nil)
	if len(report.Secrets) > 0 { // the refusal contains placeholders for the secrets
		return nil, report.Refusal()
	}
	if refusal := fault.From(report.Refusal()); refusal != nil {
		refusal.Message, refusal.Hint = what+" looks like a prompt injection: "+refusal.Message,
			"state the fact, for example \"The user lives in Osaka\", without instructions to the reader"
		return nil, refusal
	}
	return report.Risk, nil
}

// shortID is the number of characters of an ID that a placeholder shows.
const shortID = 8

// Sanitize prepares the text of a stored row for a prompt, because some rows are written without a
// scan. It replaces secrets and dangerous text with a placeholder. The row does not change.
func Sanitize(store, id, text string) string {
	if found := guard.Secrets(text); len(found) > 0 {
		metrics.Blocked(store)
		return fmt.Sprintf("[blocked: %s entry %s, %s]", store, id[:min(len(id), shortID)], found[0].ID)
	}
	safe, finding := guard.Sanitize(store, id, text)
	if finding != nil {
		metrics.Blocked(store)
	}
	return safe
}
