// Package taubench distills τ-bench's airline trajectories with the offline rules, a real
// Temporal server and a real Postgres. It reports the numbers of skills, the time, and personal
// data of customers in skills.
package taubench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/app/lab"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/tenancy"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
	"cairn/internal/service/library"
)

// Result is the result of the benchmark.
type Result struct {
	Conversations int                 `json:"conversations"`
	Runs          map[run.Outcome]int `json:"runs"`
	Tasks         int                 `json:"tasks"`
	Created       int                 `json:"created"`
	Updated       int                 `json:"updated"` // including unchanged ones
	Skipped       int                 `json:"skipped"`
	Failed        int                 `json:"failed"`
	Skills        []Skill             `json:"skills"`
	Leaks         []Leak              `json:"leaks"`
	Seconds       float64             `json:"seconds"`
	PeakMiB       float64             `json:"peak_mib"` // of this process, which is command and worker
	Errors        []string            `json:"errors"`
}

// Skill is a skill at the end of the benchmark.
type Skill struct {
	Name     string `json:"name"`
	Versions int    `json:"versions"`
	Sources  int    `json:"sources"` // number of conversations in its evidence
}

// Leak is personal data of a customer in a skill.
type Leak struct {
	Skill, Kind, Value string
}

// Lab is an open Cairn for the benchmark.
type Lab struct {
	App       *app.App
	Workspace tenancy.Workspace
}

// OpenLab opens a temporary Cairn. Call done at the end.
func OpenLab(ctx context.Context, log io.Writer) (l Lab, done func(), err error) {
	if l.App, done, err = lab.OpenStack(ctx, log, nil); err != nil {
		return Lab{}, nil, err
	}
	if l.Workspace, err = l.App.Store.Workspace(ctx, "tau", true); err != nil {
		done()
		return Lab{}, nil, err
	}
	return l, done, nil
}

// Distil distills the conversations in parallel and checks the skills.
func (l Lab) Distil(ctx context.Context, conversations []transcript.Conversation, atOnce int) (Result, error) {
	started := time.Now()
	r := Result{Conversations: len(conversations), Runs: map[run.Outcome]int{}, Errors: []string{}, Leaks: []Leak{}}
	places := make(chan struct{}, atOnce)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, c := range conversations {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			report, err := l.one(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Errors = append(r.Errors, err.Error())
				return
			}
			r.add(report)
		})
	}
	all.Wait()
	r.Seconds = time.Since(started).Seconds()
	r.PeakMiB = peakMiB()
	return r, l.look(ctx, conversations, &r)
}

func (l Lab) one(ctx context.Context, c transcript.Conversation) (distill.Report, error) {
	accepted, _, err := l.App.Distill.Accept(ctx,
		distill.Request{Workspace: l.Workspace.ID, WorkspaceKey: l.Workspace.Key, Conversation: c, Channel: "import",
			Spec: app.DistillSpec(l.App.Config, transcript.ExtractAuto)})
	if err != nil {
		return distill.Report{}, fmt.Errorf("%s: %w", c.Title, err)
	}
	if err := l.App.Driver.Start(ctx, l.Workspace.Key, "import", accepted); err != nil {
		return distill.Report{}, fmt.Errorf("%s: %w", c.Title, err)
	}
	for {
		report, err := l.App.Distill.Report(ctx, accepted.Ref)
		if err != nil || report.Status == run.Ended {
			return report, err
		}
		select {
		case <-ctx.Done():
			return report, fmt.Errorf("%s: %w", c.Title, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *Result) add(report distill.Report) {
	r.Runs[report.Outcome]++
	for _, t := range report.Tasks {
		r.Tasks++
		switch t.Outcome {
		case distill.Created:
			r.Created++
		case distill.Updated, distill.Unchanged:
			r.Updated++
		case distill.Skipped:
			r.Skipped++
		default:
			r.Failed++
			r.Errors = append(r.Errors, fmt.Sprintf("%s, task %s: %s", report.Title, t.Name, t.Reason))
		}
	}
}

// look checks the texts and sources of all versions of all skills.
func (l Lab) look(ctx context.Context, conversations []transcript.Conversation, r *Result) error {
	personal := personalOf(conversations)
	return l.App.Store.InWorkspace(ctx, l.Workspace.ID, func(ctx context.Context, q postgres.Tx) error {
		const most = 1000
		heads, err := q.Skills().Skills(ctx, library.Listing{Statuses: skill.Statuses(), Max: most})
		if err != nil {
			return err
		}
		for _, h := range heads {
			s := Skill{Name: h.Name, Versions: h.Version}
			seen := map[int64]bool{}
			for n := 1; n <= h.Version; n++ {
				v, err := q.Skills().Version(ctx, h.ID, n)
				if err != nil {
					return err
				}
				if len(v.Sources) == 0 {
					r.Errors = append(r.Errors, fmt.Sprintf("version %d of %s has no evidence", n, h.Name))
				}
				for _, src := range v.Sources {
					seen[src.Conversation] = true
				}
				r.Leaks = append(r.Leaks, personal.in(v)...)
			}
			s.Sources = len(seen)
			r.Skills = append(r.Skills, s)
		}
		return nil
	})
}

// texts returns all texts of a version by name.
func texts(v skill.Version) map[string]string {
	out := map[string]string{"name": v.DisplayName, "description": v.Description, "body": v.Body}
	for _, f := range v.Files {
		out[f.Path] = f.Content
	}
	return out
}
