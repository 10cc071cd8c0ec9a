// Package skill defines skills: the draft that a model proposes, the document that is stored, the
// files of a skill, and its package. It is pure.
//
// A model's reply is decoded to a draft:
//
//	draft, notes, err := skill.DecodeDraft(reply, skill.Full, task.Seqs)
//
// A draft becomes a document, or updates one. Omitted parts are kept:
//
//	document := skill.NewDocument(draft)
//	merged := skill.Merge(current, files, draft)
//
// Planned files are attached by name, after their names are checked:
//
//	files, degraded, violations := skill.Attach(draft.Scripts, written, skill.Scripts)
//
// The document is rendered as SKILL.md and packed. Equal skills give equal bytes, so packages are
// addressed by their content:
//
//	document = document.WithFiles(files)
//	md := skill.Render(document, skill.RenderOptions{})
//	archive, err := skill.Zip(skill.Canonical(document.Name), md, files)
//
// ParseDocument parses a SKILL.md, from Cairn or from another tool.
//
// A skill that a tool saves is a text with four headings. It is normalized and checked before it is
// stored. A patch quotes the text to replace:
//
//	content, warnings, err := skill.NormalizeContent(content)
//	more, err := skill.CheckShape(content)
//	patched, warnings, err := skill.PatchContent(content, old, new, false)
package skill
