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

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/tempcairn"
	"cairn/internal/service/distill"
	"cairn/internal/store"
)

// Result is the result of the benchmark.
type Result struct {
	Conversations int                 `json:"conversations"`
	Runs          map[run.Outcome]int `json:"runs"`
	Tasks         int                 `json:"tasks"`
	Created       int                 `json:"created"`
	Updated       int                 `json:"updated"` // including unchanged ones
	Staged        int                 `json:"staged"`  // changes that wait for a person
	Waiting       map[string]int      `json:"waiting"` // findings of what waits, by check
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
	Name     string       `json:"name"`
	Status   skill.Status `json:"status"`
	Versions int          `json:"versions"`
	Sources  int          `json:"sources"`  // number of conversations in its evidence
	Failed   int          `json:"failed"`   // those of them that failed, by their rewards
	Observed int          `json:"observed"` // those of them that show the success of their work
	Text     string       `json:"text"`     // SKILL.md of the last version
	Invented []string     `json:"invented"` // tools that it names and no conversation has called
}

// Leak is personal data of a customer in a skill.
type Leak struct {
	Skill, Kind, Value string
}

// Lab is an open Cairn for the benchmark.
type Lab struct {
	App       *app.App
	Workspace access.Workspace
}

// OpenLab opens a temporary Cairn. With scripted, an endpoint replies with the drafts of the offline rules and
// with the scores of a judge that likes everything; else the offline model replies, and no one judges. Call done
// at the end.
func OpenLab(ctx context.Context, log io.Writer, scripted bool) (l Lab, done func(), err error) {
	settings := map[string]string{}
	closeModel := func() {}
	if scripted {
		server, err := openaitest.Start()
		if err != nil {
			return Lab{}, nil, err
		}
		script(server)
		closeModel = server.Close
		settings = map[string]string{"OPENAI_BASE_URL": server.URL, "OPENAI_API_KEY": "none",
			"CAIRN_MODEL": "scripted", "SKILL_QUALITY": "on"}
	}
	h, closeStack, err := tempcairn.OpenStack(ctx, log, settings)
	if err != nil {
		closeModel()
		return Lab{}, nil, err
	}
	l.App, done = h, func() { closeStack(); closeModel() }
	if l.Workspace, err = l.App.Store.Workspace(ctx, "tau", true); err != nil {
		done()
		return Lab{}, nil, err
	}
	return l, done, nil
}

// Distil distills the conversations in parallel and checks the skills. Without rewards, Cairn does not learn how
// the conversations ended.
func (l Lab) Distil(ctx context.Context, conversations []transcript.Conversation, atOnce int, rewards bool) (Result,
	error) {
	started := time.Now()
	r := Result{Conversations: len(conversations), Runs: map[run.Outcome]int{}, Errors: []string{}, Leaks: []Leak{},
		Waiting: map[string]int{}}
	places := make(chan struct{}, atOnce)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, c := range conversations {
		if !rewards {
			c.Reward = nil
		}
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
	proposals, err := l.App.Library.Proposals(ctx, l.Workspace.ID, most)
	if err != nil {
		return r, err
	}
	for _, p := range proposals {
		for _, f := range p.Findings {
			r.Waiting[f.Check]++
		}
	}
	return r, l.look(ctx, conversations, &r)
}

// most limits the skills and changes that are read.
const most = 1000

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
		case distillation.Created:
			r.Created++
		case distillation.Updated, distillation.Unchanged:
			r.Updated++
		case distillation.Staged:
			r.Staged++
		case distillation.Skipped:
			r.Skipped++
		default:
			r.Failed++
			r.Errors = append(r.Errors, fmt.Sprintf("%s, task %s: %s", report.Title, t.Name, t.Reason))
		}
	}
}

// look checks the texts and sources of all versions of all skills.
func (l Lab) look(ctx context.Context, conversations []transcript.Conversation, r *Result) error {
	personal, facts := personalOf(conversations), factsOf(conversations)
	return l.App.Store.InWorkspace(ctx, l.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		heads, err := q.Skills().Skills(ctx, skill.Listing{Statuses: skill.Statuses(), Max: most})
		if err != nil {
			return err
		}
		for _, h := range heads {
			s := Skill{Name: h.Name, Status: h.Status, Versions: h.Version, Invented: []string{}}
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
				s.Text, s.Invented = v.Body, append(s.Invented, facts.invented(v)...)
			}
			s.Sources = len(seen)
			for id := range seen {
				c, err := q.Transcripts().Conversation(ctx, id, 0, 0)
				if err != nil {
					return err
				}
				if facts.failed[c.ID] {
					s.Failed++
				}
				if facts.observed[c.ID] {
					s.Observed++
				}
			}
			r.Skills = append(r.Skills, s)
		}
		return nil
	})
}

// Promise returns the skills that should not be active: with rewards, those that only failed conversations
// taught; without, those that no conversation with an observed success taught. It also returns the active skills
// and those of them that failed conversations taught at all.
func (r Result) Promise(rewards bool) (broken []string, active, fromFailed int) {
	for _, s := range r.Skills {
		if s.Status != skill.Active {
			continue
		}
		active++
		if s.Failed > 0 {
			fromFailed++
		}
		if rewards && s.Failed == s.Sources || !rewards && s.Observed == 0 {
			broken = append(broken, s.Name)
		}
	}
	return broken, active, fromFailed
}

// facts are what the conversations show.
type facts struct {
	tools            map[string]bool // names of called tools
	failed, observed map[string]bool // by the ID of a conversation
}

func factsOf(conversations []transcript.Conversation) facts {
	out := facts{tools: map[string]bool{}, failed: map[string]bool{}, observed: map[string]bool{}}
	for _, c := range conversations {
		out.failed[c.ID] = c.Verdict() == transcript.Failure
		_, out.observed[c.ID] = transcript.Observed(c.Messages)
		for _, m := range c.Messages {
			for _, call := range m.ToolCalls {
				out.tools[call.Name] = true
			}
		}
	}
	return out
}

// invented returns the tools of a version that no conversation has called.
func (f facts) invented(v skill.Version) (out []string) {
	for _, tool := range v.Document().Tools {
		if !f.tools[tool] {
			out = append(out, tool)
		}
	}
	return out
}

// texts returns all texts of a version by name.
func texts(v skill.Version) map[string]string {
	out := map[string]string{"name": v.DisplayName, "description": v.Description, "body": v.Body}
	for _, f := range v.Files {
		out[f.Path] = f.Content
	}
	return out
}
