package distill

import (
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

func showDocument(d skill.Document) prompt.Candidate {
	return prompt.Candidate{Name: d.Name, Description: d.Description, Trigger: d.Trigger, Procedure: d.Procedure,
		Experience: d.Experience,
		Preference: d.Preference, Examples: d.Examples, Scripts: d.Scripts, References: d.References, Tools: d.Tools}
}

// showDraft converts a draft for the prompt that writes its files.
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
