package distill

import (
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
)

// versionOf is a document with its files as a version; who made it, when and
// from what is filled in by the caller.
func versionOf(name string, d skill.Document, files []skill.File, number, base int, summary string,
	violations []string) skill.Version {
	return skill.Version{Name: name, Number: number, Base: base, DisplayName: d.Name, Description: d.Description,
		Body:  string(skill.RenderBody(d)),
		Files: files, ContentSHA: skill.ContentHash(d, files), ChangeSummary: summary, Violations: violations}
}

// showVersion is a version as a model sees it, without its handle.
func showVersion(v skill.Version) prompt.Candidate {
	return showDocument(v.Document())
}

func showDocument(d skill.Document) prompt.Candidate {
	return prompt.Candidate{Name: d.Name, Description: d.Description, Trigger: d.Trigger, Procedure: d.Procedure,
		Experience: d.Experience,
		Preference: d.Preference, Examples: d.Examples, Scripts: d.Scripts, References: d.References, Tools: d.Tools}
}

// showDraft is a draft as the writer of its files sees it.
func showDraft(d skill.Draft) prompt.Candidate {
	c := prompt.Candidate{Name: d.Name, Description: d.Description, Trigger: d.Trigger, Procedure: d.Procedure,
		Experience: d.Experience,
		Preference: d.Preference, Examples: d.Examples, Tools: d.Tools}
	for _, f := range d.Scripts {
		c.Scripts = append(c.Scripts, f.File)
	}
	for _, f := range d.Others {
		c.References = append(c.References, f.File)
	}
	return c
}
