package apptest

import (
	"crypto/rand"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// StageMemory makes a memory write of an agent wait for approval.
func (b *Bundle) StageMemory(content string) {
	b.T.Helper()
	_, err := b.App.Memory.Save(b.T.Context(), agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginAgent,
		Tainted: true, Op: rand.Text()}, memory.SaveArgs{Content: content})
	testkit.Must(b.T, err)
}

// AddSchedule schedules a prompt.
func (b *Bundle) AddSchedule(name, cron, zone string) {
	b.T.Helper()
	_, err := b.Schedules.Add(b.T.Context(), b.Workspace.ID, scheduled.Draft{Name: name, Cron: cron, Zone: zone,
		Prompt: "Remind me."})
	testkit.Must(b.T, err)
}
