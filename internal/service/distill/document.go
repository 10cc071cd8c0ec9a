package distill

import (
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
)

// versionOf converts a document and its files into a version. The caller sets origin, time and evidence.
func versionOf(name string, d skill.Document, files []skill.File, number, base int, summary string,
	violations []string) skill.Version {
	return skill.Version{Name: name, Number: number, Base: base, DisplayName: d.Name, Description: d.Description,
		Body:  string(skill.RenderBody(d)),
		Files: files, ContentSHA: skill.ContentHash(d, files), ChangeSummary: summary, Violations: violations}
}

// showVersion converts a version for a prompt, without its handle.
func showVersion(v skill.Version) prompt.Candidate {
	return showDocument(v.Document())
}

// showDocument shows the document in the agent profile, with one line for each rule and pitfall.
func showDocument(d skill.Document) prompt.Candidate {
	d = d.Agent()
	when := skill.ParseWhen(d.WhenToUse)
	c := prompt.Candidate{Name: d.Name, Description: strings.TrimSpace(d.Description + "\n" + when.Text),
		Trigger: when.Use, NotFor: when.Not, Procedure: d.Procedure, Pitfalls: skill.Items(d.Pitfalls),
		Verification: skill.Items(d.Verification),
		Experience:   d.Experience, Preference: d.Preference, Examples: d.Examples, Scripts: d.Scripts,
		References: d.References, Tools: d.Tools}
	for _, in := range d.Inputs {
		c.Inputs = append(c.Inputs, in.String())
	}
	for _, r := range d.Rules {
		c.Rules = append(c.Rules, r.String())
	}
	return c
}

// showDraft converts a draft, with the names of its planned files.
func showDraft(d skill.Draft) prompt.Candidate {
	c := showDocument(skill.NewDocument(d))
	for _, f := range d.Scripts {
		c.Scripts = append(c.Scripts, f.File)
	}
	for _, f := range d.Others {
		c.References = append(c.References, f.File)
	}
	return c
}

// newDocument returns the document of a new skill in the profile of the run.
func (j job) newDocument(d skill.Draft) skill.Document {
	if j.spec.Profile == skill.SeedProfile {
		return skill.NewDocument(d).Seed()
	}
	return skill.NewDocument(d)
}

// fitted drops examples that make SKILL.md too long, with a note in violations.
func fitted(d skill.Document, violations []string) (skill.Document, []string, error) {
	d, dropped, ok := d.Fitted()
	if dropped > 0 {
		violations = append(violations, fmt.Sprintf("examples: %d dropped, SKILL.md has at most %d lines", dropped,
			skill.MaxLines))
	}
	if !ok {
		return d, violations, fault.Newf(fault.ModelInvalid, "SKILL.md has more than %d lines", skill.MaxLines)
	}
	return d, violations, d.Check()
}
