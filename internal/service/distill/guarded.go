package distill

import (
	"fmt"
	"slices"
	"sync"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
)

// private holds what models, skills and packages must not contain: secrets, found by their form,
// and values of the persons and the case, found by their context. It exists for one step.
type private struct {
	on         bool
	redactor   *guard.Redactor
	values     func() guard.ValueSet // collected when a step first needs them
	redactions int                   // number of secrets in the messages
}

// protect redacts the messages of a job before any prompt is built. The same messages get the same
// placeholders in every step.
func (j *job) protect() {
	if !j.spec.Redact {
		return
	}
	original := j.conv.Messages
	j.private = private{on: true, redactor: guard.NewRedactor(guard.Options{}),
		values: sync.OnceValue(func() guard.ValueSet { return guard.Values(original) })}
	history, _ := j.private.redactor.Messages(j.history)
	messages, counts := j.private.redactor.Messages(j.conv.Messages)
	j.history, j.conv.Messages, j.private.redactions = history, messages, counts.Total()
}

// clean removes secrets and values of the case from a text.
func (p private) clean(text string) string {
	if !p.on {
		return text
	}
	text, _ = p.redactor.Redact(p.values().Mask(text))
	return text
}

// riskOf scans all text of a version. Findings that the base version already had when it was
// approved are not reported.
func riskOf(v, base skill.Version) []string {
	d := v.Document()
	texts := map[string]string{"name": v.DisplayName, "description": v.Description, "body": v.Body}
	for i, t := range d.Triggers() {
		texts[fmt.Sprintf("trigger %d", i+1)] = t
	}
	files := map[string]string{}
	for _, f := range v.Files {
		files[f.Path] = f.Content
	}
	var out []string
	for _, line := range guard.CheckSkill(texts, files).Risk {
		if !slices.Contains(base.Risk, line) {
			out = append(out, line)
		}
	}
	return out
}
