// Package approval contains what a person decides on: the findings about a change, and the decision.
package approval

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Severity is what a finding means for a change that contains it.
type Severity string

// Severities of findings, the worst first.
const (
	Block  Severity = "block"  // an approval must name the finding and give a reason
	Review Severity = "review" // a person must approve the change
	Note   Severity = "note"   // information for the person
)

// Finding is a reason why a change needs a person.
type Finding struct {
	ID       string   `json:"id" doc:"Identifies the finding in an override"`
	Check    string   `json:"check" doc:"The check that reported it"`
	Severity Severity `json:"severity" enum:"block,review,note"`
	Text     string   `json:"text" doc:"What was found"`
	Place    string   `json:"place,omitempty" doc:"File and line, or section"`
	Line     string   `json:"line,omitempty" doc:"The text at the place"`
}

// NewFinding returns a finding. Its ID depends on all arguments, so that an override of one finding
// does not apply to another one.
func NewFinding(check string, s Severity, place, line, text string) Finding {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", check, place, line, text))
	return Finding{ID: fmt.Sprintf("%s-%x", check, sum[:4]), Check: check, Severity: s, Text: text, Place: place,
		Line: line}
}

// Worst returns the worst severity of findings, and "" for none.
func Worst(findings []Finding) Severity {
	for _, s := range []Severity{Block, Review, Note} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == s }) {
			return s
		}
	}
	return ""
}

// Blocking returns the IDs of the findings that an override must name.
func Blocking(findings []Finding) (ids []string) {
	for _, f := range findings {
		if f.Severity == Block {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// Override accepts blocking findings.
type Override struct {
	Findings []string `json:"findings,omitempty" doc:"IDs of all blocking findings"`
	Reason   string   `json:"reason,omitempty" doc:"Why the change is approved anyway, 10 to 500 characters"`
}

// Decision is a person's approval.
type Decision struct {
	// SHA is that of the item as the person has seen it, or its beginning. Empty means the item as it
	// is now.
	SHA      string
	Override Override
}

// shortSHA is the number of digits of a SHA that identify an item.
const shortSHA = 12

// Lengths of the reason of an override, in runes.
const (
	minReason = 10
	maxReason = 500
)

// Check returns fault.VersionConflict if the item is no longer what the person has seen, and
// fault.OverrideRequired if the override does not name exactly the blocking findings.
func (d Decision) Check(sha string, findings []Finding) error {
	if d.SHA != "" && (len(d.SHA) < shortSHA || !strings.HasPrefix(sha, d.SHA)) {
		return fault.New(fault.VersionConflict, "the item has changed since it was shown",
			"show it again, then decide").With("sha", sha)
	}
	blocking := Blocking(findings)
	given := slices.Clone(d.Override.Findings)
	slices.Sort(given)
	given = slices.Compact(given)
	for _, id := range given {
		if !slices.Contains(blocking, id) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("the item has no blocking finding %.40q", id),
				"show the item; its blocking findings have an ID").With("findings", blocking)
		}
	}
	if len(given) < len(blocking) {
		return fault.New(fault.OverrideRequired,
			"the override does not name all blocking findings",
			"read the findings, then approve with an override that names "+strings.Join(blocking, ", ")+
				" and gives a reason").With("findings", blocking)
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(d.Override.Reason)); len(blocking) > 0 &&
		(n < minReason || n > maxReason) {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("the reason of the override has %d characters, %d–%d are allowed", n, minReason, maxReason),
			"state why the findings are acceptable")
	}
	return nil
}

// Note describes an override for the audit log, and is empty without one.
func (d Decision) Note() string {
	if len(d.Override.Findings) == 0 {
		return ""
	}
	return fmt.Sprintf(", override of %s: %s", strings.Join(d.Override.Findings, ", "),
		strings.TrimSpace(d.Override.Reason))
}
