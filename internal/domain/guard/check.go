package guard

import (
	"maps"
	"slices"
)

// Report is the result of CheckSkill. Where of every finding is the name of the text or file.
type Report struct {
	Findings []Finding // of Scan and ScanScript
	Secrets  []Finding
	Risk     []string // one line for each finding, for the approver; never the text itself
}

// Verdict returns the worst severity of all findings. A secret is Dangerous.
func (r Report) Verdict() Severity {
	return Verdict(slices.Concat(r.Findings, r.Secrets))
}

// CheckSkill scans all parts of a skill that a later reader sees: its texts by field name (name,
// description, procedure, …) and its files by path. A skill with any Risk stays a candidate until
// it is approved.
func CheckSkill(texts, files map[string]string) Report {
	var report Report
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		report.add(name, Scan(texts[name], Strict), Secrets(texts[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		report.add(
			name,
			sortFindings(append(Scan(name, Strict), ScanScript(name, files[name])...)),
			Secrets(files[name]),
		)
	}
	return report
}

func (r *Report) add(where string, findings, secrets []Finding) {
	for i := range findings {
		findings[i].Where = where
	}
	for i := range secrets {
		secrets[i].Where = where
	}
	r.Findings = append(r.Findings, findings...)
	r.Secrets = append(r.Secrets, secrets...)
	for _, f := range slices.Concat(findings, secrets) {
		r.Risk = append(r.Risk, f.RiskLine())
	}
}
