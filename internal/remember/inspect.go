package remember

import (
	"fmt"
	"strings"

	"cairn/internal/fault"
	"cairn/internal/guard"
)

// inspect scans what is about to be kept. A secret or an attack is an error;
// what honest text might say too comes back as risk, one line each, which names
// rules and lines and never the text.
func inspect(what, text string) (risk []string, err error) {
	if found := guard.Secrets(text); len(found) > 0 {
		return nil, fault.New(fault.SecretDetected, what+" holds a secret: "+named(found), "")
	}
	found := guard.Scan(text, guard.Strict)
	if guard.Verdict(found) == guard.Dangerous {
		return nil, fault.New(fault.BlockedContent, what+" reads like an attack on whoever reads it later: "+named(found), "say the fact in plain words, without orders to the reader")
	}
	for _, f := range found {
		risk = append(risk, fmt.Sprintf("%s: %s in %s, line %d (%s)", f.Severity, f.Family, what, f.Line, f.ID))
	}
	return risk, nil
}

func named(findings []guard.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s in line %d", f.ID, f.Line))
	}
	return strings.Join(out, ", ")
}

// shortID is how much of an id a placeholder shows.
const shortID = 8

// sanitise stands between a row and a prompt: a row may have got its text by
// other ways than the ones that scan. What is secret or dangerous is replaced,
// the row is left for whoever looks into it.
func sanitise(store, id, text string) string {
	if found := guard.Secrets(text); len(found) > 0 {
		return fmt.Sprintf("[blocked: %s entry %s, %s]", store, id[:min(len(id), shortID)], found[0].ID)
	}
	safe, _ := guard.Sanitize(store, id, text)
	return safe
}
