package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
)

// Texts returns the scanned texts of a version by their names in findings.
func Texts(v skill.Version) (texts, files map[string]string) {
	texts = map[string]string{"name": v.DisplayName, "description": v.Description, "body": v.Body}
	for i, t := range v.Document().Triggers() {
		texts[fmt.Sprintf("trigger %d", i+1)] = t
	}
	files = map[string]string{}
	for _, f := range v.Files {
		files[f.Path] = f.Content
	}
	return texts, files
}

// risks returns the findings of the security scan that the current version does not have.
func risks(current, next skill.Version) []approval.Finding {
	texts, files := Texts(next)
	report := guard.CheckSkill(texts, files)
	known := map[string]bool{}
	for _, line := range current.Risk {
		known[withoutLine(line)] = true
	}
	reported := map[string]bool{}
	var out []approval.Finding
	for _, f := range slices.Concat(report.Findings, report.Secrets) {
		reported[f.ID] = true
		if known[withoutLine(f.RiskLine())] {
			continue
		}
		text, ok := texts[f.Where]
		if !ok {
			text = files[f.Where]
		}
		out = append(
			out,
			approval.NewFinding(Risk, severityOf(f), fmt.Sprintf("%s:%d", f.Where, f.Line), lineOf(text, f.Line),
				fmt.Sprintf("%s, rule %s", strings.ReplaceAll(string(f.Family), "_", " "), f.ID)),
		)
	}
	for _, line := range next.Risk { // of other files and of the front matter, which are not texts of the version
		_, id, _ := strings.Cut(line, " (")
		id = strings.TrimSuffix(id, ")")
		if known[withoutLine(line)] || reported[id] {
			continue
		}
		out = append(out, RiskLine(line))
	}
	return out
}

// severityOf returns what a finding of the security scan means for an approval. What stays on the machine after the
// session blocks like other changes of the machine, also in text that honest skills have.
func severityOf(f guard.Finding) approval.Severity {
	if f.Severity == guard.Caution && f.Family != guard.Persistence {
		return approval.Review
	}
	return approval.Block
}

// RiskLine converts a finding of the security scan that was stored as a line, without its text.
func RiskLine(line string) approval.Finding {
	severity, family, _ := strings.Cut(line, ": ")
	family, _, _ = strings.Cut(family, " in ")
	f := guard.Finding{Severity: guard.Severity(severity), Family: guard.Family(family)}
	return approval.NewFinding(Risk, severityOf(f), "", "", line)
}

var (
	lineNumber = regexp.MustCompile(`, line \d+ \(`)
	bodyName   = regexp.MustCompile(` in (?:body|content|SKILL\.md)\b`)
)

// withoutLine removes the line number of a finding, which changes with the text above it, and the
// names that writers give to the body.
func withoutLine(risk string) string {
	return bodyName.ReplaceAllString(lineNumber.ReplaceAllString(risk, " ("), " in body")
}

// maxLine limits the text of a line in a finding, in runes.
const maxLine = 200

func lineOf(text string, number int) string {
	lines := strings.Split(text, "\n")
	if number < 1 || number > len(lines) {
		return ""
	}
	line := []rune(strings.TrimSpace(lines[number-1]))
	if len(line) > maxLine {
		line = append(line[:maxLine-1], '…')
	}
	return string(line)
}
