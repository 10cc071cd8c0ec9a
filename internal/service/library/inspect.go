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

// inspect scans a planned version. Secrets and dangerous texts are refused; what
// may be honest is a warning, or waits when nobody watches. What the version in
// force was accepted with is not found anew.
func inspect(a agent.Actor, f facts, p *plan) error {
	v := &p.version
	report := guard.CheckSkill(map[string]string{"name": v.Name, "description": v.Description, "category": v.Category,
		"content": v.Body}, nil)
	known := map[string]bool{}
	for _, line := range f.current.Risk {
		known[withoutLine(line)] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(report.Findings), func(n guard.Finding) bool {
		return known[withoutLine(riskLine(n))]
	})
	if err := (guard.Report{Findings: fresh, Secrets: report.Secrets}).Refusal(); err != nil {
		return err
	}
	v.Risk = report.Risk
	for _, line := range f.current.Risk { // of files, which no tool changes
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
	if !a.Origin.Autonomous() {
		p.notes = append(p.notes, "the text may be taken for an attack: "+shown(fresh))
	}
	return nil
}

// packed are the paths of what a version's package holds beside SKILL.md.
func packed(v skill.Version) (paths []string) {
	for _, f := range v.Files {
		paths = append(paths, f.Path)
	}
	for _, e := range v.Extra {
		paths = append(paths, e.Path)
	}
	return paths
}

// riskLine is a finding as CheckSkill notes it for whoever approves.
func riskLine(n guard.Finding) string {
	return fmt.Sprintf("%s: %s in %s, line %d (%s)", n.Severity, n.Family, n.Where, n.Line, n.ID)
}

var lineNumber = regexp.MustCompile(`, line \d+ \(`)

// withoutLine is what stays of a finding when text above it changes.
func withoutLine(risk string) string { return lineNumber.ReplaceAllString(risk, " (") }

// shown names findings by rule and place, never by their text.
func shown(findings []guard.Finding) string {
	var out []string
	for _, n := range findings[:min(len(findings), 5)] {
		out = append(out, fmt.Sprintf("%s in %s, line %d", n.ID, n.Where, n.Line))
	}
	return strings.Join(out, "; ")
}
