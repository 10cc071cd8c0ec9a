package activities

import (
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/library"
	"cairn/internal/service/schedule"
)

// Sweep are the activities of scheduled work.
type Sweep struct {
	Sweeper *schedule.Sweeper
	Curator *library.Curator
}

// RegisterMain registers the steps with w.
func (a Sweep) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.SweepPage:    step(slow, a.Sweeper.Page),
		contract.CurateSkills: step(quick, a.Curator.CurateSkills),
	}.register(w)
}
