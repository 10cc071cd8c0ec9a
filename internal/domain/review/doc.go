// Package review checks a new version of a skill before it takes effect. The checks compare texts and
// call no model.
//
//	findings := review.Changes(current, proposed) // current is the zero version for a new skill
package review

import (
	"slices"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
)

// Checks of findings.
const (
	Shrink         = "shrink"         // steps, rules or text below 70 %
	Lost           = "lost"           // an error text, a rule, a preference or a script is missing
	Contradiction  = "contradiction"  // one condition with two values
	Risk           = "risk"           // the security scan
	UnknownTool    = "tool"           // a tool that the conversation did not call
	Privacy        = "privacy"        // a value of a person or case
	Judge          = "judge"          // the judge's score is too low or missing
	Counterfactual = "counterfactual" // fewer decisive calls of earlier conversations
	Compare        = "compare"        // the judge does not prefer the update
	Outcome        = "outcome"        // how the conversation ended
	Offline        = "offline"        // written without a model
	Pinned         = "pinned"         // only users change the skill
	Unmanaged      = "unmanaged"      // a person wrote the current version
	Target         = "target"         // the model named a skill that it was not shown
)

// static are the checks of Changes.
var static = []string{Shrink, Lost, Contradiction, Risk}

// Changes checks the text of a new version against the current one.
func Changes(current, next skill.Version) []approval.Finding {
	out := risks(current, next)
	out = append(out, contradictions(current, next)...)
	if current.Body == "" {
		return out
	}
	out = append(out, shrinks(current, next)...)
	return append(out, losses(current, next)...)
}

// Of returns the findings of a version that waits for approval: those of its text against the current
// version, and those that were stored when it was written.
func Of(current, next skill.Version) []approval.Finding {
	out := Changes(current, next)
	for _, f := range next.Findings {
		if !slices.Contains(static, f.Check) {
			out = append(out, f)
		}
	}
	return out
}

// Drafts reports whether findings keep a new skill a draft, which a better version can activate.
func Drafts(findings []approval.Finding) bool {
	return slices.ContainsFunc(findings, func(f approval.Finding) bool {
		return f.Severity != approval.Note && (f.Check == Judge || f.Check == Outcome || f.Check == Offline)
	})
}
