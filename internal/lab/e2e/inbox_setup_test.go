package e2e_test

import (
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

// pendingChanges returns the changes of skills that wait for a person.
func pendingChanges(t *testing.T, b *apptest.Bundle) (out []skill.Pending) {
	t.Helper()
	const most = 10
	proposals, err := b.Library.Proposals(t.Context(), b.Workspace.ID, most)
	testkit.Must(t, err)
	for _, p := range proposals {
		if p.Change != nil {
			out = append(out, *p.Change)
		}
	}
	return out
}

// overriding approves with an override of the blocking findings of a proposal.
func overriding(p library.Proposal) approval.Decision {
	return approval.Decision{SHA: p.SHA,
		Override: approval.Override{Findings: approval.Blocking(p.Findings), Reason: "A person has read the findings."}}
}
