package library

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
)

// inspect scans a planned version. It rejects secrets and dangerous text. Doubtful text is a
// warning. It needs approval in an autonomous run, and in the index of skills, which every prompt
// contains. Findings that the current version was accepted
// with are ignored.
func inspect(a agent.Actor, f facts, p *plan) error {
	v := &p.version
	report := guard.CheckSkill(map[string]string{"name": v.Name, "description": v.Description, "category": v.Category,
		"content": v.Body}, nil)
	known := map[string]bool{}
	for _, line := range f.current.Risk {
		known[withoutLine(line)] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(report.Findings), func(n guard.Finding) bool {
		return known[withoutLine(n.RiskLine())]
	})
	if err := (guard.Report{Findings: fresh, Secrets: report.Secrets}).Refusal(); err != nil {
		return err
	}
	v.Risk = report.Risk
	for _, line := range f.current.Risk { // findings in files, which no tool changes
		if slices.ContainsFunc(packed(*v), func(file string) bool {
			return strings.Contains(line, " in "+file+", line ")
		}) {
			v.Risk = append(v.Risk, line)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	p.caution = true
	p.indexed = slices.ContainsFunc(fresh, func(n guard.Finding) bool { return n.Where != "content" })
	if !a.Origin.Autonomous() {
		p.notes = append(p.notes, "the text looks like an attack: "+shown(fresh))
	}
	return nil
}

// packed returns the paths in a version's package other than SKILL.md.
func packed(v skill.Version) (paths []string) {
	for _, f := range v.Files {
		paths = append(paths, f.Path)
	}
	for _, e := range v.Extra {
		paths = append(paths, e.Path)
	}
	return paths
}

var lineNumber = regexp.MustCompile(`, line \d+ \(`)

// withoutLine removes the line number of a finding, which changes with the text above it.
func withoutLine(risk string) string { return lineNumber.ReplaceAllString(risk, " (") }

// shown lists findings by rule and position, without their text.
func shown(findings []guard.Finding) string {
	var out []string
	for _, n := range findings[:min(len(findings), 5)] {
		out = append(out, fmt.Sprintf("%s in %s, line %d", n.ID, n.Where, n.Line))
	}
	return strings.Join(out, "; ")
}
