package guard

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Refusal returns the error for a write with findings, or nil if the write is allowed:
// secret_detected for secrets, with the placeholders to use instead, or blocked_content for
// dangerous findings. Extra `findings` holds the rules and lines ([]Finding), never the text.
// Cautions are not refused here, because their handling depends on the writer.
func (r Report) Refusal() error {
	if len(r.Secrets) > 0 {
		var names []string
		for _, f := range r.Secrets {
			if name := f.Placeholder(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		hint := "store the value with the secrets of the deployment, and write " + strings.Join(names, ", ") +
			" instead"
		return fault.New(fault.SecretDetected, "the text contains "+places(r.Secrets), hint).With("findings", r.Secrets)
	}
	dangerous := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Severity != Dangerous })
	if len(dangerous) == 0 {
		return nil
	}
	return fault.New(fault.BlockedContent, "the text contains "+places(dangerous),
		"remove or rephrase the lines that the message names").
		With("findings", dangerous)
}

// Placeholder returns the placeholder to write instead of a secret: {{secret:OPENAI_KEY}}.
func (f Finding) Placeholder() string {
	return "{{secret:" + strings.ToUpper(strings.TrimPrefix(f.ID, "secret.")) + "}}"
}

// maxPlaces is the number of findings in a message; Extra has all of them.
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
