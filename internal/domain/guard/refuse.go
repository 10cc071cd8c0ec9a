package guard

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Refusal is the answer to a write of what was found, nil when nothing forbids
// it: secret_detected for secrets, with the placeholders to write in their
// place, blocked_content for what is dangerous. Extra `findings` holds the
// rules and lines ([]Finding), never the text. What is to happen with cautions
// depends on who writes, so they are no refusal.
func (r Report) Refusal() error {
	if len(r.Secrets) > 0 {
		var names []string
		for _, f := range r.Secrets {
			if name := f.Placeholder(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		hint := "store the value with the secrets of the deployment and write " + strings.Join(names, ", ") +
			" in its place"
		return fault.New(fault.SecretDetected, "the text holds "+places(r.Secrets), hint).With("findings", r.Secrets)
	}
	dangerous := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Severity != Dangerous })
	if len(dangerous) == 0 {
		return nil
	}
	return fault.New(fault.BlockedContent, "the text holds "+places(dangerous), "remove or reword the named lines").
		With("findings", dangerous)
}

// Placeholder is what to write for a secret: {{secret:OPENAI_KEY}}.
func (f Finding) Placeholder() string {
	return "{{secret:" + strings.ToUpper(strings.TrimPrefix(f.ID, "secret.")) + "}}"
}

// maxPlaces is how many findings a message names; Extra has all.
const maxPlaces = 5

func places(findings []Finding) string {
	var named []string
	for _, f := range findings[:min(len(findings), maxPlaces)] {
		place := fmt.Sprintf("%s on line %d", f.ID, f.Line)
		if f.Where != "" {
			place += " of " + f.Where
		}
		named = append(named, place)
	}
	if more := len(findings) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return strings.Join(named, ", ")
}
