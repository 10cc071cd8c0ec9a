package memorywrite

import (
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/metrics"
)

// Inspect scans what is about to be kept. A secret or an attack is an error with
// its findings, which name rules and lines and never the text; what honest text
// might say too comes back as risk, one line each.
func Inspect(what, text string) (risk []string, err error) {
	report := guard.CheckSkill(map[string]string{what: text}, nil)
	if len(report.Secrets) > 0 { // with the placeholders to write in their place
		return nil, report.Refusal()
	}
	if refusal := fault.From(report.Refusal()); refusal != nil {
		refusal.Message, refusal.Hint = what+" reads like an attack on whoever reads it later: "+refusal.Message,
			"say the fact in plain words, without orders to the reader"
		return nil, refusal
	}
	return report.Risk, nil
}

// shortID is how much of an id a placeholder shows.
const shortID = 8

// Sanitize stands between a row and a prompt: a row may have got its text by
// other ways than the ones that scan. What is secret or dangerous is replaced,
// the row is left for whoever looks into it.
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
