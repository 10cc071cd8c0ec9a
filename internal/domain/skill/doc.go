// Package skill is what a skill is: the draft that a model proposes, the
// document that is kept, the files beside it and the package that is handed
// out. It touches nothing outside itself.
//
// A model's reply becomes a draft, whatever shape it came in:
//
//	draft, notes, err := skill.DecodeDraft(reply, skill.Full, task.Seqs)
//
// A draft becomes a document, or changes one without losing anything by
// omission:
//
//	document := skill.NewDocument(draft)
//	merged := skill.Merge(current, files, draft)
//
// Planned files are attached by name, and names are never trusted:
//
//	files, degraded, violations := skill.Attach(draft.Scripts, written, skill.Scripts)
//
// The document is written as SKILL.md and packed. Both give the same bytes for
// the same skill, so packages are addressed by their content:
//
//	document = document.WithFiles(files)
//	md := skill.Render(document, skill.RenderOptions{})
//	archive, err := skill.Zip(skill.Canonical(document.Name), md, files)
//
// ParseDocument reads a SKILL.md back, ours or anybody's.
//
// A skill that a tool saves is a text with four headings. It is normalised and
// checked before it is kept, and changed by quoting what is to go:
//
//	content, warnings, err := skill.NormalizeContent(content)
//	more, err := skill.CheckShape(content)
//	patched, warnings, err := skill.PatchContent(content, old, new, false)
package skill
