package distill

import (
	"strings"

	"cairn/internal/prompt"
	"cairn/internal/skill"
)

// versionOf is a document with its files as a version; who made it, when and
// from what is filled in by the caller.
func versionOf(name string, d skill.Document, files []skill.File, number, base int, summary string, violations []string) skill.Version {
	return skill.Version{Name: name, Number: number, Base: base, DisplayName: d.Name, Description: d.Description, Body: string(skill.RenderBody(d)),
		Files: files, ContentSHA: skill.ContentHash(d, files), ChangeSummary: summary, Violations: violations}
}

// documentOf reads a version's fields out of its body.
func documentOf(v skill.Version) skill.Document {
	d := skill.ParseBody(v.Body)
	d.Name, d.Description = v.DisplayName, v.Description
	return d
}

// searchText is what a version is found and embedded by.
func searchText(v skill.Version) string { return textOf(documentOf(v)) }

// firstSteps is how many lines of the procedure say what a skill is about.
const firstSteps = 5

// textOf is name, description, triggers and the first lines of the procedure.
func textOf(d skill.Document) string {
	steps := strings.SplitN(d.Procedure, "\n", firstSteps+1)
	return strings.Join([]string{d.Name, d.Description, strings.Join(d.Trigger, ", "), strings.Join(steps[:min(len(steps), firstSteps)], "\n")}, "\n")
}

// showVersion is a version as a model sees it, without its handle.
func showVersion(v skill.Version) prompt.Candidate {
	d := documentOf(v)
	return prompt.Candidate{Name: d.Name, Description: d.Description, Trigger: d.Trigger, Procedure: d.Procedure, Experience: d.Experience,
		Preference: d.Preference, Examples: d.Examples, Scripts: d.Scripts, References: d.References, Tools: d.Tools}
}

// showDraft is a draft as the writer of its files sees it.
func showDraft(d skill.Draft) prompt.Candidate {
	c := prompt.Candidate{Name: d.Name, Description: d.Description, Trigger: d.Trigger, Procedure: d.Procedure, Experience: d.Experience,
		Preference: d.Preference, Examples: d.Examples, Tools: d.Tools}
	for _, f := range d.Scripts {
		c.Scripts = append(c.Scripts, f.File)
	}
	for _, f := range d.Others {
		c.References = append(c.References, f.File)
	}
	return c
}
