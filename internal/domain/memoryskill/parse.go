package memoryskill

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"cairn/internal/domain/fault"
)

var (
	headingLine = regexp.MustCompile(`^(#{1,6})[ \t]+(.+?)[ \t]*$`)
	itemLine    = regexp.MustCompile(`^(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)$`)
	// actionLine sets the action of a skill without frontmatter.
	actionLine = regexp.MustCompile(`(?i)^[-*+ \t]*(?:allowed )?action(?: type)?:[ \t]*([a-z]+)(?: only)?\.?$`)
)

// Parse parses the Markdown of a skill. It accepts the output of Render, and the same sections
// without frontmatter: the name is then derived from the title, and the action from a line such as
// "Action type: INSERT only." Unknown sections are errors with their line. The result is normalized
// but not checked; see Check.
func Parse(md []byte) (Skill, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(md), "\ufeff"), "\r\n", "\n")
	p := parser{lines: strings.Split(text, "\n")}
	if err := p.frontmatter(); err != nil {
		return Skill{}, err
	}
	for p.at < len(p.lines) {
		if err := p.line(p.lines[p.at]); err != nil {
			return Skill{}, err
		}
		p.at++
	}
	if p.skill.Name == "" {
		p.skill.Name = Slug(p.skill.Title)
	}
	return p.skill.Normalized(), nil
}

type parser struct {
	lines     []string
	at        int
	skill     Skill
	paragraph *string   // of the open section; or
	list      *[]string // of the open section
}

func (p *parser) wrong(why, hint string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("line %d: %s", p.at+1, why), hint)
}

// frontmatter parses the YAML block at the start, if there is one.
func (p *parser) frontmatter() error {
	if strings.TrimRight(p.lines[0], " \t") != "---" {
		return nil
	}
	end := 1
	for end < len(p.lines) && strings.TrimRight(p.lines[end], " \t") != "---" {
		end++
	}
	if end == len(p.lines) {
		return p.wrong("the frontmatter is not closed", "close it with a line of three hyphens")
	}
	const hint = "use YAML frontmatter with name and action"
	keys := map[string]yaml.Node{} // nodes keep a name such as null
	if err := yaml.Unmarshal([]byte(strings.Join(p.lines[1:end], "\n")), &keys); err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "frontmatter", hint)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch value := keys[key]; {
		case value.Kind != yaml.ScalarNode:
			return p.wrong(fmt.Sprintf("%s must be text", key), hint)
		case key == "name":
			p.skill.Name = value.Value
		case key == "action":
			p.skill.Action = Action(value.Value)
		default:
			return p.wrong(fmt.Sprintf("unknown frontmatter key %q", key), hint)
		}
	}
	p.at = end + 1
	return nil
}

func (p *parser) line(text string) error {
	if m := headingLine.FindStringSubmatch(text); m != nil {
		return p.heading(len(m[1]), m[2])
	}
	trimmed := strings.TrimSpace(text)
	if p.skill.Action == "" {
		if m := actionLine.FindStringSubmatch(trimmed); m != nil && ParseAction(m[1]) != "" {
			p.skill.Action = ParseAction(m[1])
			return nil
		}
	}
	switch {
	case trimmed == "":
	case p.paragraph != nil:
		*p.paragraph += " " + trimmed
	case p.list != nil:
		p.item(text, trimmed)
	default:
		return p.wrong("text outside a section",
			"move it below Description, Purpose, When to Use, How to Apply or Constraints")
	}
	return nil
}

// item starts an item, or continues the last one.
func (p *parser) item(text, trimmed string) {
	if m := itemLine.FindStringSubmatch(trimmed); m != nil {
		*p.list = append(*p.list, m[1])
		return
	}
	if n := len(*p.list); n > 0 && text != trimmed {
		(*p.list)[n-1] += " " + trimmed
		return
	}
	*p.list = append(*p.list, trimmed)
}

func (p *parser) heading(level int, title string) error {
	if level == 1 && p.skill.Title == "" && p.paragraph == nil && p.list == nil {
		p.skill.Title = title
		return nil
	}
	p.paragraph, p.list = nil, nil
	switch strings.ToLower(strings.TrimRight(title, ":")) {
	case strings.ToLower(titleDescription):
		p.paragraph = &p.skill.Description
	case strings.ToLower(titlePurpose):
		p.paragraph = &p.skill.Purpose
	case strings.ToLower(titleWhenToUse):
		p.list = &p.skill.WhenToUse
	case strings.ToLower(titleHowToApply):
		p.list = &p.skill.HowToApply
	case strings.ToLower(titleConstraints):
		p.list = &p.skill.Constraints
	default:
		return p.wrong(fmt.Sprintf("unknown section %q", line(title)),
			"use Description, Purpose, When to Use, How to Apply and Constraints")
	}
	return nil
}
