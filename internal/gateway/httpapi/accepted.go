package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
)

const (
	// startPatience bounds how long an accepted run's caller waits for Temporal;
	// the relay starts what could not be started.
	startPatience = 2 * time.Second
	// lookEvery is how often a waiting request looks how far something is that
	// nobody tells of.
	lookEvery = 100 * time.Millisecond
)

// RunLinks are where to look for a run.
type RunLinks struct {
	Self     string `json:"self"`
	Events   string `json:"events" doc:"Server-sent events until the run has ended"`
	Temporal string `json:"temporal,omitempty" doc:"Its page in Temporal UI"`
}

func (g *Gateway) runLinks(id int64, workflowID string) RunLinks {
	self := g.link("/v1/runs/%d", id)
	return RunLinks{Self: self, Events: self + "/events", Temporal: g.Options.WorkflowLink(workflowID)}
}

// link is the address of a path, relative without PUBLIC_BASE_URL.
func (g *Gateway) link(format string, args ...any) string {
	return strings.TrimRight(g.Options.PublicBaseURL, "/") + fmt.Sprintf(format, args...)
}

// accepted starts the workflow of a durable run, and waits for its end as long
// as the caller wishes to.
func (g *Gateway) accepted(ctx context.Context, r run.Run, made bool, wait time.Duration) (*acceptedOutput, error) {
	if r.Status != run.Ended {
		g.start(ctx, r)
	}
	out := &acceptedOutput{Status: http.StatusAccepted,
		Body: AcceptedRequest{Run: r.Ref.Run, New: made, Status: r.Status, WorkflowID: r.WorkflowID,
			Links: g.runLinks(r.Ref.Run, r.WorkflowID)}}
	out.Location = out.Body.Links.Self
	if wait == 0 {
		return out, nil
	}
	status, err := g.await(ctx, r.Ref, wait, nil, func() (run.Status, error) {
		p, err := g.Distill.Progress(ctx, r.Ref)
		return p.Status, err
	})
	if err != nil {
		return nil, err
	}
	out.Body.Status = status
	if status != run.Ended {
		return out, nil
	}
	report, err := g.report(ctx, r.Ref)
	if err != nil {
		return nil, err
	}
	out.Status, out.Body.Report = http.StatusOK, &report
	return out, nil
}

// start saves the wait for the relay, which drives what is stored in any case.
func (g *Gateway) start(ctx context.Context, r run.Run) {
	if g.Driver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := g.Driver.Start(ctx, asking(ctx).Workspace.Key, importChannel, r); err != nil {
		g.Log.Warn("the workflow is left to the relay", "run", r.Ref.Run, "error", err)
	}
}

// await returns the run's status when it has ended, when the caller's patience
// has, or when the gateway stops. Told is closed when anybody but the database
// tells of the end.
func (g *Gateway) await(ctx context.Context, ref run.Ref, patience time.Duration, told <-chan struct{},
	look func() (run.Status, error)) (status run.Status, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(g.closing, cancel)()
	if status, err = look(); err != nil || status == run.Ended {
		return status, err
	}
	err = g.Waiter.Await(waiting, ref.Run, told, func() (run.Status, error) {
		status, err = look()
		return status, err
	})
	if waiting.Err() != nil && ctx.Err() == nil { // enough was waited
		err = nil
	}
	return status, err
}

// report is a run's report with addresses where the command line has paths.
func (g *Gateway) report(ctx context.Context, ref run.Ref) (distill.Report, error) {
	r, err := g.Distill.Report(ctx, ref)
	if err != nil {
		return r, err
	}
	return g.linked(r), nil
}

func (g *Gateway) linked(r distill.Report) distill.Report {
	r.Link = g.Options.WorkflowLink(r.WorkflowID)
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.Link = g.Options.WorkflowLink(t.WorkflowID)
		if t.SkillID != 0 {
			t.SkillMD = g.link("/v1/skills/%d/versions/%d", t.SkillID, t.Version)
			t.Package = t.SkillMD + "/package"
		}
	}
	return r
}
