// Package schedule is what a workspace wants done again and again: the daily
// reflection and the weekly curation, which every workspace has, and prompts of
// its own that are answered as turns.
//
// One sweep serves all workspaces. It claims a page of what is due, and in the
// transaction of the claim moves each task to its next firing:
//
//	counts, err := sweeper.Page(ctx, "claim-1", 0) // again, after a crash: the same page
//
// A firing is named by its key, which is its local date where no date has two, so
// that a clock which goes back does not double it. What was taken is held by a
// lease until it is started, and the workflow or message that it starts is named
// by the key, too: taken twice it is one. Firings that were missed are one, the
// latest, or none when it is later than the task's catch-up.
package schedule
