// Package schedule runs recurring tasks of a workspace: the daily reflection and the weekly
// curation, which every workspace has, and prompts that are processed as turns.
//
// One sweep serves all workspaces. It claims a page of due tasks and, in the same transaction,
// moves each task to its next firing:
//
//	counts, err := sweeper.Page(ctx, contract.SweepPageInput{Claim: "claim-1"}) // repeat after a crash: same page
//
// A firing is identified by its key. The key is the local date unless a date has several firings,
// so that a clock change does not fire a task twice. A lease holds a claimed firing until it is
// started. The workflow or message that it starts is named after the key, so that a firing claimed
// twice starts once. If several firings were missed, only the latest is started, or none if it is
// older than the task's catch-up.
package schedule
