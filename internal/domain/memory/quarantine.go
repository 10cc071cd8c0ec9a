package memory

import (
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
)

// Withheld reports whether activating version to of an entry approves text that is in quarantine, or was
// when it was removed. history is the newest first.
func Withheld(e Entry, history []Revision, to int) bool {
	if e.Status == Quarantined {
		return true
	}
	kept := slices.IndexFunc(history, func(r Revision) bool { return r.Status != Removed })
	return kept >= 0 && history[kept].Status == Quarantined ||
		slices.ContainsFunc(history, func(r Revision) bool { return r.Version == to && r.Status == Quarantined })
}

// NeedsApproval is the error of a person who may not activate an entry in quarantine.
func NeedsApproval(id string) error {
	return fault.New(fault.OutOfScope, fmt.Sprintf("memory %s is in quarantine: only an approver activates it", id),
		"use a key with the scope admin")
}
