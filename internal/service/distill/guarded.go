package distill

import (
	"fmt"
	"slices"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
)

// private holds what models, skills and packages must not contain: secrets, found by their form,
// and values of the persons and the case, found by their context. It exists for one step.
type private struct {
	on         bool
	redactor   *guard.Redactor
	values     guard.ValueSet
	redactions int // number of secrets in the messages
}

// protect redacts the messages of a job before any prompt is built. The same messages get the same
// placeholders in every step.
func (j *job) protect() {
	if !j.spec.Redact {
		return
	}
	j.private = private{on: true, redactor: guard.NewRedactor(guard.Options{}), values: guard.Values(j.conv.Messages)}
	history, _ := j.private.redactor.Messages(j.history)
	messages, counts := j.private.redactor.Messages(j.conv.Messages)
	j.history, j.conv.Messages, j.private.redactions = history, messages, counts.Total()
}

// clean removes secrets and values of the case from a text.
func (p private) clean(text string) string {
	if !p.on {
		return text
	}
	text, _ = p.redactor.Redact(p.values.Mask(text))
	return text
}

func (p private) all(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		out[i] = p.clean(t)
	}
	return out
}

// cleanDraft cleans every field of a draft and returns a note if it changed anything.
func (p private) cleanDraft(d skill.Draft) (skill.Draft, []string) {
	if !p.on {
		return d, nil
	}
	before := fmt.Sprint(d)
	d.Name, d.Description, d.Procedure, d.Reason = p.clean(d.Name), p.clean(d.Description), p.clean(d.Procedure),
		p.clean(d.Reason)
	d.Trigger, d.Experience, d.Preference, d.Examples = p.all(d.Trigger), p.all(d.Experience), p.all(d.Preference),
		p.all(d.Examples)
	plans := func(in []skill.FilePlan) []skill.FilePlan {
		out := slices.Clone(in)
		for i, f := range out {
			out[i].Purpose, out[i].Inputs, out[i].Outputs, out[i].Code = p.clean(f.Purpose), p.clean(f.Inputs),
				p.clean(f.Outputs), p.clean(f.Code)
		}
		return out
	}
	d.Scripts, d.Others = plans(d.Scripts), plans(d.Others)
	d.Inline = slices.Clone(d.Inline)
	for i, e := range d.Inline {
		d.Inline[i].Text = p.clean(e.Text)
	}
	if fmt.Sprint(d) == before {
		return d, nil
	}
	return d, []string{"secrets or values of this case were removed from the draft"}
}

// riskOf scans all text of a version. Findings that the base version already had when it was
// approved are not reported.
func riskOf(v, base skill.Version) []string {
	d := v.Document()
	texts := map[string]string{"name": v.DisplayName, "description": v.Description, "body": v.Body}
	for i, t := range d.Trigger {
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
