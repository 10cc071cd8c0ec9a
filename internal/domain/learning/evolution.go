package learning

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
)

// Round is one round of the designer.
type Round struct {
	Number        int                `json:"round"`
	Run           string             `json:"run"`
	Base          int                `json:"base"` // version of the bank
	Conversations []int64            `json:"-"`
	Cases         []MinedCase        `json:"cases"`
	Analysis      *Analysis          `json:"analysis,omitempty"`
	Proposal      *designer.Proposal `json:"proposal,omitempty"`
	Candidate     *BankCandidate     `json:"candidate,omitempty"`
	Comparison    *Comparison        `json:"comparison,omitempty"`
	Outcomes      EpisodeOutcomes    `json:"outcomes,omitzero"` // of its trials
	Outcome       string             `json:"outcome,omitempty"`
	Note          string             `json:"note,omitempty"`
	CreatedAt     time.Time          `json:"created_at,omitzero"`
	EndedAt       *time.Time         `json:"ended_at,omitempty"`
}

// Learned returns a round in the form in which the owner decides on it.
func (r Round) Learned(row BankRow) approval.Learned {
	ids := fmt.Sprint(row.ID, r.Number)
	for _, v := range r.Candidate.Members {
		ids += " " + v.ID
	}
	return approval.Learned{Bank: row.Name, BankID: row.ID, Number: r.Number, Base: r.Base, Run: r.Run,
		Summary: DescribeCandidate(r.Candidate), Reason: r.Note, Lines: r.lines(), CreatedAt: r.CreatedAt,
		SHA: fmt.Sprintf("%x", sha256.Sum256([]byte(ids)))}
}

// lines describes the edit of a round and its comparisons.
func (r Round) lines() string {
	var out []string
	text := func(mark string, v memoryskill.Version) {
		if v.ID == "" {
			return
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(memoryskill.Render(v.Skill))), "\n") {
			out = append(out, mark+line)
		}
	}
	for _, d := range r.Candidate.Changes {
		out = append(out, d.Kind+" "+d.Name)
		text("-", d.Before)
		text("+", d.After)
	}
	c := r.Comparison
	out = append(out, fmt.Sprintf("%d held-out conversations: %+.4f against live builds now (at least %+.4f), %+.4f "+
		"against all skills (at least %+.4f), %+.4f against the best fixed set (at least %+.4f)", c.Traces, c.Mean,
		c.Lower, c.All.Mean, c.All.Lower, c.Fixed.Mean, c.Fixed.Lower))
	return strings.Join(out, "\n") + "\n"
}
