// Package learning wires the services for memory skills: banks and their policies, builds of
// memories, hard cases, and the runs that improve banks and policies.
//
//	service, err := learning.New(learning.Ports{…})
//	head, err := service.Banks.Head(ctx, ws, bank.Default)           // creates the default bank if needed
//	r, err := service.Builds.Accept(ctx, build.Request{…})           // a session becomes memories
//	c, err := service.Cases.RecordFailure(ctx, ws, …)                // a question becomes a hard case
//	r, err := service.Rounds.Accept(ctx, evolution.Request{…})       // a round of the designer
//	rs, err := service.Updates.AcceptDue(ctx, runspec.Due{…})        // the policy learns from live decisions
//	r, err := service.Trainings.Accept(ctx, training.Request{…})     // policy and bank learn together
//
// Each method is a step that may be repeated; model calls go through the ledger.
package learning

import (
	"context"
	"log/slog"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/live"
	"cairn/internal/service/learning/train"
	"cairn/internal/service/memory"
	"cairn/internal/store"
)

// Ports are the dependencies of the services.
type Ports struct {
	bank.Extensions
	Store      *store.Store
	Memories   *memory.LongTermService
	Asker      bank.Asker
	Embedder   bank.Embedder
	Controller policy.Controller
	Space      int16        // embedding space of the vectors
	Starter    bank.Starter // nil without Temporal: the relay starts runs
	Log        *slog.Logger // nil discards logs
}

// Service contains the services for memory skills.
type Service struct {
	Ports     Ports
	Banks     *bank.Service
	Builds    *build.Service
	Cases     *bank.Cases
	Trainings *train.Training
	Rounds    *train.Evolution
	Updates   *live.Adaptation
	Probes    *live.Probes
}

// noStarter starts nothing; the relay starts the runs.
type noStarter struct{}

func (noStarter) Start(context.Context, string, string, run.Run) error { return nil }

// New wires the services.
func New(p Ports) *Service {
	s := &Service{Ports: p}
	if p.Starter == nil {
		p.Starter = noStarter{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	encoder := bank.Encoder{Embedder: p.Embedder}
	s.Banks = bank.New(bank.Ports{Store: p.Store, Encoder: encoder, Controller: p.Controller})
	s.Cases = bank.NewCases(bank.CasesPorts{Store: p.Store, Banks: s.Banks})
	s.Updates = live.NewAdaptation(live.AdaptationPorts{Store: p.Store, Banks: s.Banks, Controller: p.Controller,
		Player:  bank.EpisodePlayer{Encoder: encoder, Asker: p.Asker, Executor: p.Executor, Judge: p.Judge},
		Starter: p.Starter})
	s.Probes = live.NewProbes(live.ProbesPorts{Store: p.Store, Banks: s.Banks, Encoder: encoder, Asker: p.Asker,
		Memories: p.Memories, Log: p.Log})
	s.Builds = build.New(build.Ports{
		Store:    p.Store,
		Banks:    s.Banks,
		Encoder:  encoder,
		Asker:    p.Asker,
		Executor: p.Executor,
		Memories: p.Memories,
		Updates:  s.Updates,
		Probes:   s.Probes,
		Starter:  p.Starter,
		Space:    p.Space,
	})
	s.Trainings = train.NewTraining(
		train.TrainingPorts{Extensions: p.Extensions, Store: p.Store, Banks: s.Banks, Encoder: encoder,
			Asker: p.Asker, Controller: p.Controller, Starter: p.Starter, Log: p.Log},
	)
	s.Rounds = train.NewEvolution(
		train.Ports{Extensions: p.Extensions, Store: p.Store, Banks: s.Banks, Encoder: encoder,
			Asker: p.Asker, Starter: p.Starter, Log: p.Log, Space: p.Space},
	)
	return s
}
