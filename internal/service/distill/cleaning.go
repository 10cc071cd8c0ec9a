package distill

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
)

// cleaning cleans the fields of one draft and counts what it masks and removes, by kind.
type cleaning struct {
	private
	counts map[string]int
}

// text masks secrets and values.
func (c cleaning) text(text string) string {
	for kind, n := range c.values().Count(text) {
		c.counts[kind] += n
	}
	return c.clean(text)
}

// prose also generalizes the attributes of a person, and removes what still describes one.
func (c cleaning) prose(text string) string {
	text = c.text(text)
	for _, p := range c.values().Passages(text) {
		c.counts[p.Kind]++
	}
	return withoutPassages(c.values(), c.values().Generalize(text))
}

func (c cleaning) items(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text = c.prose(text); strings.TrimSpace(text) != "" {
			out = append(out, text)
		}
	}
	return out
}

func (c cleaning) plans(in []skill.FilePlan) []skill.FilePlan {
	out := slices.Clone(in)
	for i, f := range out {
		out[i].Purpose, out[i].Inputs, out[i].Outputs, out[i].Code = c.prose(f.Purpose), c.text(f.Inputs),
			c.text(f.Outputs), c.text(f.Code)
	}
	return out
}

// parts cleans inputs, rules and pitfalls. A part of which nothing is left is removed. A value stays if a system
// prompt or a user's rule states it.
func (c cleaning) parts(d *skill.Draft) {
	inputs, rules, pitfalls := d.Inputs, d.Rules, d.Pitfalls
	d.Inputs, d.Rules, d.Pitfalls = nil, nil, nil
	for _, in := range inputs {
		if in.Name, in.Origin = c.prose(in.Name), c.prose(in.Origin); in.Name != "" {
			d.Inputs = append(d.Inputs, in)
		}
	}
	for _, r := range rules {
		amount := strings.Fields(c.text(r.Value + " " + r.Unit))
		r.Value, r.Unit = "", ""
		if len(amount) > 0 {
			r.Value, r.Unit = amount[0], strings.Join(amount[1:], " ")
		}
		if r.If, r.Then = c.prose(r.If), c.prose(r.Then); r.Then != "" {
			d.Rules = append(d.Rules, r)
		}
	}
	for _, p := range pitfalls {
		if p.Error, p.Cause, p.Fix = c.text(p.Error), c.prose(p.Cause), c.prose(p.Fix); p.Fix != "" {
			d.Pitfalls = append(d.Pitfalls, p)
		}
	}
}

// withoutPassages removes sentences that describe a person, and lines that have no other text.
func withoutPassages(values guard.ValueSet, text string) string {
	var b strings.Builder
	at := 0
	for _, p := range values.Passages(text) {
		line := strings.LastIndexByte(text[:p.Start], '\n') + 1
		end := len(text)
		if n := strings.IndexByte(text[p.End:], '\n'); n >= 0 {
			end = p.End + n + 1
		}
		first := !strings.ContainsFunc(strings.TrimLeft(text[max(line, at):p.Start], " \t#>-*+•"), notMark)
		switch rest := text[p.End:end]; {
		case first && strings.TrimSpace(rest) == "":
			b.WriteString(text[at:max(line, at)])
			at = end
		default:
			b.WriteString(text[at:p.Start])
			at = p.End + len(rest) - len(strings.TrimLeft(rest, " "))
		}
	}
	return strings.TrimRight(b.String()+text[at:], " ")
}

// notMark reports whether a character is not part of the number of a list item.
func notMark(r rune) bool { return !strings.ContainsRune("0123456789.)、 ", r) }

// cleanDraft cleans every field of a draft and returns notes about what it changed. It fails if nothing is left
// of a required field, because the field only described a person.
func (p private) cleanDraft(d skill.Draft) (skill.Draft, []string, error) {
	if !p.on {
		return d, nil, nil
	}
	before := d
	c := cleaning{private: p, counts: map[string]int{}}
	d.Name, d.Description, d.Procedure, d.Reason = c.text(d.Name), c.prose(d.Description), c.prose(d.Procedure),
		c.text(d.Reason)
	d.Trigger, d.Experience, d.Preference, d.Examples = c.items(d.Trigger), c.items(d.Experience),
		c.items(d.Preference), c.items(d.Examples)
	d.NotFor, d.Verification = c.items(d.NotFor), c.items(d.Verification)
	c.parts(&d)
	d.Scripts, d.Others = c.plans(d.Scripts), c.plans(d.Others)
	d.Inline = slices.Clone(d.Inline)
	for i, e := range d.Inline {
		d.Inline[i].Text = c.prose(e.Text)
	}
	if before.Description != "" && d.Description == "" || before.Procedure != "" && d.Procedure == "" {
		return d, nil, fmt.Errorf("the draft describes one person and no reusable work")
	}
	if fmt.Sprint(d) == fmt.Sprint(before) {
		return d, nil, nil
	}
	d.Privacy = c.counts
	notes := []string{"secrets or values of this case were removed from the draft"}
	for _, kind := range slices.Sorted(maps.Keys(c.counts)) {
		switch n := c.counts[kind]; kind {
		case guard.QuasiIdentifier:
			notes = append(notes, fmt.Sprintf("privacy: %d sentences with several attributes of one person were "+
				"generalized", n))
		case guard.Prose:
			notes = append(notes, fmt.Sprintf("privacy: %d sentences that repeat a user's message were removed", n))
		}
	}
	return d, notes, nil
}

// cleanFile cleans a written file. The text of documents is checked for passages, too.
func (p private) cleanFile(f distillation.WrittenFile) string {
	if text := p.clean(f.Content); p.on && f.Kind == distillation.Reference {
		return withoutPassages(p.values(), p.values().Generalize(text))
	}
	return p.clean(f.Content)
}
