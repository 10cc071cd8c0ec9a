// Package health finds what is wrong in a workspace and in its installation: since when, what it means for users, and
// what to do about it.
//
//	reasons, err := service.Reasons(ctx, workspace)
package health

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store store.Health
	// Temporal, Schema and Embedder return why a dependency is not usable, or nil.
	Temporal, Schema, Embedder func(ctx context.Context) error
}

// Installation is what the configuration says.
type Installation struct {
	Queues  []string // that a worker must serve
	Sandbox string   // queue of the workers that run commands of skills
	Shell   bool     // whether agents can run commands of skills
	Offline bool     // the offline model is used
}

// Service finds reasons. It is safe for concurrent use.
type Service struct {
	Ports
	Installation Installation

	// ProbeValid is the time for which the result of a probe is used again.
	ProbeValid time.Duration

	mu     sync.Mutex
	asked  time.Time // of the probes
	failed map[readmodel.HealthCode]failure
}

// failure is the result of a probe that failed.
type failure struct {
	since  time.Time
	detail string
}

// New returns a Service.
func New(p Ports, i Installation) *Service {
	return &Service{Ports: p, Installation: i, ProbeValid: probeValid, failed: map[readmodel.HealthCode]failure{}}
}

const (
	// Pulse is the time between two beats of a worker.
	Pulse = 8 * time.Second
	// silence is the time after which a worker without a beat is gone.
	silence = 20 * time.Second
	// embedPatience is the time that a text may wait for its vector.
	embedPatience = 5 * time.Minute
	probeValid    = 5 * time.Second
	// probePatience bounds each probe.
	probePatience = 2 * time.Second
)

// Reasons returns what is wrong for a workspace, problems first. It returns an empty list if nothing is.
func (s *Service) Reasons(ctx context.Context, ws int64) ([]Reason, error) {
	out := s.probe(ctx)
	facts, err := s.facts(ctx, ws)
	if err != nil && !slices.ContainsFunc(out, func(r Reason) bool { return r.Code == readmodel.SchemaBehind }) {
		return nil, err // with an old schema, statements are expected to fail
	}
	for _, f := range facts {
		known := slices.ContainsFunc(out, func(r Reason) bool { return r.Code == f.Code && r.Name == f.Name })
		if !known {
			out = append(out, reasonOf(f))
		}
	}
	if s.Installation.Offline {
		out = append(out, reasonOf(readmodel.HealthFact{Code: readmodel.OfflineModel}))
	}
	slices.SortStableFunc(out, bySeverity)
	return out, nil
}

// Installed returns what is wrong with the installation, of no workspace.
func (s *Service) Installed(ctx context.Context) ([]Reason, error) {
	out := s.probe(ctx)
	beats, err := s.Store.WorkerBeats(ctx, silence)
	if err != nil {
		return out, err
	}
	for _, f := range s.silent(beats) {
		out = append(out, reasonOf(f))
	}
	if s.Installation.Offline {
		out = append(out, reasonOf(readmodel.HealthFact{Code: readmodel.OfflineModel}))
	}
	slices.SortStableFunc(out, bySeverity)
	return out, nil
}

func bySeverity(a, b Reason) int {
	return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(order(a.Code), order(b.Code)))
}

// silent names the queues without a worker in one fact.
func (s *Service) silent(beats []readmodel.WorkerBeat) []readmodel.HealthFact {
	var queues []string
	f := readmodel.HealthFact{Code: readmodel.NoWorker}
	for _, q := range s.Installation.Queues {
		if b := beatOf(beats, q); !b.Live {
			queues = append(queues, q)
			if f.Since.IsZero() || !b.SeenAt.IsZero() && b.SeenAt.Before(f.Since) {
				f.Since = b.SeenAt
			}
		}
	}
	if len(queues) == 0 {
		return nil
	}
	f.Name = strings.Join(queues, ", ")
	return []readmodel.HealthFact{f}
}

func (s *Service) facts(ctx context.Context, ws int64) ([]readmodel.HealthFact, error) {
	chosen, err := s.Store.Settings(ctx, ws)
	if err != nil {
		return nil, err
	}
	all, err := s.Store.HealthFacts(ctx, ws, embedPatience)
	if err != nil {
		return nil, err
	}
	learns := chosen.Memory.Builder == settings.BuilderSkills
	out := slices.DeleteFunc(all, func(f readmodel.HealthFact) bool {
		return f.Code == readmodel.BudgetExhausted && !refuses(chosen, f.Detail) ||
			f.Code == readmodel.LearningFrozen && !learns
	})
	beats, err := s.Store.WorkerBeats(ctx, silence)
	if err != nil {
		return nil, err
	}
	out = append(out, s.silent(beats)...)
	if chosen.Tools.Shell {
		b := beatOf(beats, s.Installation.Sandbox)
		switch {
		case !s.Installation.Shell:
			out = append(out, readmodel.HealthFact{Code: readmodel.ShellUnavailable, Detail: "CAIRN_SHELL is off"})
		case !b.Live:
			out = append(out, readmodel.HealthFact{Code: readmodel.ShellUnavailable, Name: b.Queue, Since: b.SeenAt,
				Detail: "no worker with a sandbox serves the queue"})
		}
	}
	if chosen.Memory.Learning.Frozen && learns {
		out = append(out, readmodel.HealthFact{Code: readmodel.LearningFrozen})
	}
	return out, nil
}

func beatOf(beats []readmodel.WorkerBeat, queue string) readmodel.WorkerBeat {
	for _, b := range beats {
		if b.Queue == queue {
			return b
		}
	}
	return readmodel.WorkerBeat{Queue: queue}
}

// probe asks the dependencies, at most once in ProbeValid.
func (s *Service) probe(ctx context.Context) (out []Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) >= s.ProbeValid {
		s.ask(context.WithoutCancel(ctx))
	}
	for code, f := range s.failed {
		out = append(out, reasonOf(readmodel.HealthFact{Code: code, Since: f.since, Detail: f.detail}))
	}
	return out
}

func (s *Service) ask(ctx context.Context) {
	probes := []struct {
		code readmodel.HealthCode
		ask  func(context.Context) error
	}{{readmodel.TemporalUnreachable, s.Temporal}, {readmodel.SchemaBehind, s.Schema}, {readmodel.EmbeddingBehind,
		s.Embedder}}
	errs := make([]error, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, probePatience)
			defer cancel()
			errs[i] = p.ask(ctx)
		})
	}
	asking.Wait()
	s.asked = time.Now()
	for i, p := range probes {
		if errs[i] == nil {
			delete(s.failed, p.code)
			continue
		}
		since := s.asked
		if was, ok := s.failed[p.code]; ok {
			since = was.since
		}
		s.failed[p.code] = failure{since, detailOf(errs[i])}
	}
}
