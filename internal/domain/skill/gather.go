package skill

import (
	"slices"
	"strings"
)

// gathered holds the parts of each field of a document, in the order of the text. Parts are
// normalized once at the end, so that a document with a thousand sections of one kind costs no more
// than one long section.
type gathered struct {
	whenToUse, procedure, pitfalls, verification []string // settled texts
	trigger, experience, preference              []string
	inputs, rules                                []string // rendered
	examples, tools, scripts, references         []string
	others                                       []Entry
	rest                                         []Section // without a field
}

// gather starts with the fields of the document.
func gather(d Document) gathered {
	return gathered{
		whenToUse: []string{sectionText.settle(d.WhenToUse)}, procedure: []string{sectionText.settle(d.Procedure)},
		pitfalls: []string{sectionText.settle(d.Pitfalls)}, verification: []string{sectionText.settle(d.Verification)},
		trigger: slices.Clip(d.Trigger), experience: slices.Clip(d.Experience), preference: slices.Clip(d.Preference),
		examples: slices.Clip(d.Examples), tools: slices.Clip(d.Tools), scripts: slices.Clip(d.Scripts),
		references: slices.Clip(d.References), others: slices.Clip(d.Others), inputs: texts(d.Inputs),
		rules: texts(d.Rules),
	}
}

// absorb appends a normalized section body to the field of its title. It returns false if there is
// no such field, or if the section has other content than the field allows.
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
	case strings.EqualFold(title, titleInputs):
		g.inputs = append(g.inputs, parseItems(body)...)
	case strings.EqualFold(title, titleRules):
		g.rules = append(g.rules, parseItems(body)...)
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
