package skill

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Profiles of a document.
const (
	AgentProfile = "agent" // When to Use, Inputs, Decision Rules, Procedure, Pitfalls, Verification
	SeedProfile  = "seed"  // Trigger, Procedure, Experience
)

// isSeed reports whether a document has no section of the agent profile.
func (d Document) isSeed() bool {
	return d.WhenToUse == "" && d.Pitfalls == "" && d.Verification == "" && len(d.Inputs) == 0 && len(d.Rules) == 0
}

// Triggers returns the requests in users' words for which the skill is made, in any profile.
func (d Document) Triggers() []string {
	return slices.Concat(d.Trigger, ParseWhen(d.WhenToUse).Use)
}

const (
	inputsLabel = "Inputs:\n"
	verifyLabel = "Verify: "
	notForLabel = "Not for: "
)

// Seed returns the document in the seed profile: inputs before the first step, checks as the last steps,
// rules and pitfalls under Experience. Free text of other sections stays where it is. Agent is the inverse.
func (d Document) Seed() Document {
	d = d.Normalized()
	when := ParseWhen(d.WhenToUse)
	d.Trigger, d.WhenToUse = slices.Concat(d.Trigger, when.Use), when.Text
	var lessons []string
	for _, not := range when.Not {
		lessons = append(lessons, notForLabel+not)
	}
	lessons = append(lessons, texts(d.Rules)...)
	pitfalls := parseItems(d.Pitfalls)
	if !slices.ContainsFunc(pitfalls, func(text string) bool { return !isPitfall(text) }) {
		lessons, d.Pitfalls = append(lessons, pitfalls...), ""
	}
	d.Experience = slices.Concat(lessons, d.Experience)
	procedure := d.Procedure
	if inputs := bulleted.render(texts(d.Inputs)); inputs != "" {
		procedure = paragraphs([]string{inputsLabel + strings.TrimSpace(inputs), procedure})
	}
	last := len(numberedLine.FindAllString(d.Procedure, -1))
	for i, check := range parseItems(d.Verification) {
		procedure += "\n" + strconv.Itoa(last+i+1) + ". " + verifyLabel + collapse(check)
	}
	d.Inputs, d.Rules, d.Procedure, d.Verification = nil, nil, strings.TrimSpace(procedure), ""
	return d.Normalized()
}

// Agent returns the document in the agent profile.
func (d Document) Agent() Document { return d.agent().Normalized() }

func (d Document) agent() Document {
	when := ParseWhen(d.WhenToUse)
	when.Use = slices.Concat(d.Trigger, when.Use)
	var lessons, pitfalls []string
	for _, text := range d.Experience {
		not, isNot := strings.CutPrefix(text, notForLabel)
		switch rule := ParseRule(text); {
		case isNot:
			when.Not = append(when.Not, not)
		case rule.Sourced():
			d.Rules = append(slices.Clip(d.Rules), rule)
		case isPitfall(text):
			pitfalls = append(pitfalls, text)
		default:
			lessons = append(lessons, text)
		}
	}
	inputs, steps, found := strings.Cut(d.Procedure, "\n\n")
	if inputs, labelled := strings.CutPrefix(inputs, inputsLabel); found && labelled {
		for _, text := range parseItems(inputs) {
			d.Inputs = append(slices.Clip(d.Inputs), ParseInput(text))
		}
		d.Procedure = steps
	}
	var checks []string
	lines := strings.Split(d.Procedure, "\n")
	for len(lines) > 0 {
		check := verifyLine.FindStringSubmatch(lines[len(lines)-1])
		if check == nil {
			break
		}
		checks, lines = append([]string{check[1]}, checks...), lines[:len(lines)-1]
	}
	d.Procedure = strings.Join(lines, "\n")
	d.Pitfalls = paragraphs([]string{d.Pitfalls, bulleted.render(pitfalls)})
	d.Verification = paragraphs([]string{d.Verification, bulleted.render(checks)})
	d.Trigger, d.WhenToUse, d.Experience = nil, when.String(), lessons
	return d
}

var (
	numberedLine = regexp.MustCompile(`(?m)^[0-9]{1,4}[.)] `)
	verifyLine   = regexp.MustCompile(`^[0-9]{1,4}[.)] ` + verifyLabel + `(.+)$`)
)

func isPitfall(text string) bool {
	_, ok := ParsePitfall(text)
	return ok
}

// MaxLines is the length of a distilled SKILL.md, with its frontmatter, in lines.
const MaxLines = 500

// frontLines is the length of the frontmatter and the empty line after it.
const frontLines = 5

// Fitted returns the document without the examples that make it longer than MaxLines, and how many those
// are. ok is false if it is still longer.
func (d Document) Fitted() (fitted Document, dropped int, ok bool) {
	for {
		if frontLines+strings.Count(string(RenderBody(d)), "\n") <= MaxLines {
			return d, dropped, true
		}
		if len(d.Examples) == 0 {
			return d, dropped, false
		}
		d.Examples, dropped = d.Examples[:len(d.Examples)-1], dropped+1
	}
}
