package memory

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/review"
)

// Pending is a write that needs approval. It has no effect until it is approved, and expires after
// 30 days.
type Pending struct {
	ID         int64          `json:"id"`
	Store      Type           `json:"store"`
	Operations []Operation    `json:"operations"`
	Base       map[string]int `json:"base"` // version of each entry that it changes
	Adds       int            `json:"adds"`
	Gist       string         `json:"gist"`
	Risk       []string       `json:"risk,omitempty"`
	Reason     string         `json:"reason"`
	Origin     string         `json:"origin"`
	Tainted    bool           `json:"tainted,omitempty"`
	Run        string         `json:"run,omitempty"`
	Evidence   *Evidence      `json:"evidence,omitempty"`
	State      string         `json:"state"` // pending, or expired: can no longer be approved
	CreatedAt  time.Time      `json:"created_at"`
	ExpiresAt  time.Time      `json:"expires_at"`
}

// Lines returns the operations as lines for the person who decides.
func (p Pending) Lines() (out []string) {
	for _, o := range p.Operations {
		line := string(o.Op)
		if o.Match != "" {
			line += " " + o.Match
		}
		if o.Content != "" {
			line += ": " + o.Content
		}
		out = append(out, string(p.Store)+", "+line)
	}
	return out
}

// Findings returns what the security scan found in the write.
func (p Pending) Findings() (out []approval.Finding) {
	for _, line := range p.Risk {
		out = append(out, review.RiskLine(line))
	}
	return out
}

// SHA returns a hash of the write and of the versions that it is based on.
func (p Pending) SHA() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %v\n%s", p.ID, p.Store, p.Base, strings.Join(p.Lines(), "\n"))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Edited returns the write with the texts of a person, which are scanned. The SHA stays that of the write as it was
// proposed.
func (p Pending) Edited(texts []string) (Pending, error) {
	if len(texts) != len(p.Operations) {
		return p, fault.New(fault.InvalidArgument,
			fmt.Sprintf("%d texts for %d operations", len(texts), len(p.Operations)),
			"send one text for each operation of the write, empty for a removal")
	}
	out := p
	out.Operations, out.Risk, out.Run, out.Evidence = nil, nil, "", p.Evidence
	out.Origin, out.Tainted = string(agent.OriginUser), false
	for i, o := range p.Operations {
		if o.Op != Remove {
			content, err := Normalize(texts[i])
			if err != nil {
				return p, err
			}
			risk, err := Inspect(fmt.Sprintf("operation %d", i+1), content)
			if err != nil {
				return p, err
			}
			o.Content = content
			out.Risk = append(out.Risk, risk...)
		}
		out.Operations = append(out.Operations, o)
	}
	return out, nil
}
