package skill

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Document is the content of a SKILL.md. It has one of two profiles: see Seed. A document may have the
// sections of both. Empty fields have no section. WhenToUse, Procedure and Pitfalls are text, whose lines
// package part can parse.
type Document struct {
	Name         string    `json:"name"`        // for display; Canonical(Name) identifies the skill
	Description  string    `json:"description"` // one line
	Intro        string    `json:"intro,omitempty"`
	WhenToUse    string    `json:"when_to_use,omitempty"` // see part.ParseWhen
	Trigger      []string  `json:"trigger,omitempty"`     // keywords without commas
	Inputs       []Input   `json:"inputs,omitempty"`
	Rules        []Rule    `json:"rules,omitempty"`
	Procedure    string    `json:"procedure,omitempty"` // see part.ParseSteps
	Pitfalls     string    `json:"pitfalls,omitempty"`  // see part.ParsePitfall
	Verification string    `json:"verification,omitempty"`
	Experience   []string  `json:"experience,omitempty"`
	Preference   []string  `json:"preference,omitempty"`
	Examples     []string  `json:"examples,omitempty"`
	Scripts      []string  `json:"scripts,omitempty"`    // names of files in scripts/, sorted
	Tools        []string  `json:"tools,omitempty"`      // names of tools that the procedure needs
	Sections     []Section `json:"sections,omitempty"`   // sections with other titles, in order
	Others       []Entry   `json:"others,omitempty"`     // inline entries, sorted by key
	References   []string  `json:"references,omitempty"` // names of files in reference/, sorted
}

// Section is a level-2 section without its own field.
type Section struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Entry is a short text under its own heading.
type Entry struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// NewDocument returns the document of a new skill in the agent profile, without files. Add them with
// WithFiles when they exist, because a planned file may fail.
func NewDocument(d Draft) Document {
	return Document{Name: d.Name, Description: d.Description, Inputs: d.Inputs, Rules: d.Rules, Procedure: d.Procedure,
		WhenToUse:    When{Use: settleTriggers(d.Trigger), Not: d.NotFor}.String(),
		Pitfalls:     bulleted.render(texts(d.Pitfalls)),
		Verification: bulleted.render(bulleted.settleItems(d.Verification)),
		Experience:   d.Experience, Preference: d.Preference, Examples: d.Examples, Tools: d.Tools,
		Others: d.Inline}.Normalized()
}

// texts renders parts.
func texts[T fmt.Stringer](parts []T) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.String()
	}
	return out
}

// WithFiles returns the document with exactly these files under Scripts and References.
func (d Document) WithFiles(files []File) Document {
	d.Scripts, d.References = nil, nil
	for _, f := range files {
		switch f.Kind() {
		case Scripts:
			d.Scripts = append(d.Scripts, f.Name())
		case Reference:
			d.References = append(d.References, f.Name())
		}
	}
	return d.Normalized()
}

// Normalized returns the document in the form that survives rendering and parsing. Texts are
// cleaned, forged headings demoted, active HTML removed and fences closed. Lists have no empty or
// repeated items, triggers are split at commas, and file names are checked and sorted. It does not
// cut texts to a length.
func (d Document) Normalized() Document {
	g := gather(d)
	for _, s := range d.Sections {
		title, body := headingText(s.Title), sectionText.settle(s.Body)
		if title == "" {
			title = "Notes"
		}
		if body != "" && !g.absorb(title, body) {
			g.rest = append(g.rest, Section{title, body})
		}
	}
	return Document{
		Name:         headingText(d.Name),
		Description:  collapse(clean(d.Description)),
		Intro:        introText.settle(d.Intro),
		WhenToUse:    paragraphs(g.whenToUse),
		Trigger:      settleTriggers(g.trigger),
		Inputs:       settleParts(g.inputs, ParseInput),
		Rules:        settleParts(g.rules, ParseRule),
		Procedure:    paragraphs(g.procedure),
		Pitfalls:     paragraphs(g.pitfalls),
		Verification: paragraphs(g.verification),
		Experience:   numbered.settleItems(g.experience),
		Preference:   bulleted.settleItems(g.preference),
		Examples:     settleExamples(g.examples),
		Scripts:      settleNames(Scripts, g.scripts),
		Tools:        bulleted.settleItems(g.tools),
		Sections:     g.rest,
		Others:       settleEntries(g.others),
		References:   settleNames(Reference, g.references),
	}
}

// Check returns fault.InvalidArgument for a document that cannot be stored or packaged.
func (d Document) Check() error {
	var faults []error
	if strings.TrimSpace(d.Name) == "" {
		faults = append(faults, errors.New("name is empty"))
	}
	if n := utf8.RuneCountInString(d.Description); n < 1 || n > MaxDescription {
		faults = append(faults, fmt.Errorf("description has %d characters, 1–%d are allowed", n, MaxDescription))
	}
	if n := len(RenderBody(d)); n == 0 || n > MaxSkillMD {
		faults = append(faults, fmt.Errorf("body has %d bytes, 1–%d are allowed", n, MaxSkillMD))
	}
	if faults == nil {
		return nil
	}
	return fault.New(fault.InvalidArgument, strings.ReplaceAll(errors.Join(faults...).Error(), "\n", "; "), "")
}
