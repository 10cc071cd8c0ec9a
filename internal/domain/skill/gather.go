package skill

import (
	"slices"
	"strings"
)

// gathered is what a document says about each of its fields, in the order of
// the text and not yet settled as a whole: a document of a thousand sections of
// one kind costs no more than one long section.
type gathered struct {
	whenToUse, procedure, pitfalls, verification []string // settled texts
	trigger, experience, preference              []string
	examples, tools, scripts, references         []string
	others                                       []Entry
	rest                                         []Section // without a field
}

// gather begins with the fields themselves.
func gather(d Document) gathered {
	return gathered{
		whenToUse: []string{sectionText.settle(d.WhenToUse)}, procedure: []string{sectionText.settle(d.Procedure)},
		pitfalls: []string{sectionText.settle(d.Pitfalls)}, verification: []string{sectionText.settle(d.Verification)},
		trigger: slices.Clip(d.Trigger), experience: slices.Clip(d.Experience), preference: slices.Clip(d.Preference),
		examples: slices.Clip(d.Examples), tools: slices.Clip(d.Tools), scripts: slices.Clip(d.Scripts),
		references: slices.Clip(d.References), others: slices.Clip(d.Others),
	}
}

// absorb puts a section's body, already settled, into the field that its title
// names, after what is there. It reports false for a section that has no
// field, or that holds more than its field can.
func (g *gathered) absorb(title, body string) bool {
	switch {
	case strings.EqualFold(title, titleWhenToUse):
		g.whenToUse = append(g.whenToUse, body)
	case strings.EqualFold(title, titleProcedure):
		g.procedure = append(g.procedure, body)
	case strings.EqualFold(title, titlePitfalls):
		g.pitfalls = append(g.pitfalls, body)
	case strings.EqualFold(title, titleVerification):
		g.verification = append(g.verification, body)
	case strings.EqualFold(title, titleTrigger):
		g.trigger = append(g.trigger, parseTriggers(body)...)
	case strings.EqualFold(title, titleExperience):
		g.experience = append(g.experience, parseItems(body)...)
	case strings.EqualFold(title, titlePreference):
		g.preference = append(g.preference, parseItems(body)...)
	case strings.EqualFold(title, titleTools):
		g.tools = append(g.tools, parseItems(body)...)
	case strings.EqualFold(title, titleExamples):
		g.examples = append(g.examples, parseExamples(body)...)
	case strings.EqualFold(title, titleScripts):
		names, ok := parseNames(scriptLine, Scripts, strings.Split(body, "\n"))
		g.scripts = append(g.scripts, names...)
		return ok
	case strings.EqualFold(title, titleOthers):
		entries, references, ok := parseOthers(body)
		g.others, g.references = append(g.others, entries...), append(g.references, references...)
		return ok
	default:
		return false
	}
	return true
}

// paragraphs joins the texts that are not empty.
func paragraphs(texts []string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}
