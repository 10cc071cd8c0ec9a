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
	// startPatience bounds how long the caller of an accepted run waits for Temporal.
	// The relay starts the workflow if this request could not.
	startPatience = 2 * time.Second
	// lookEvery is how often a waiting request polls something that sends no
	// notification when it changes.
	lookEvery = 100 * time.Millisecond
)

// RunLinks holds the URLs of a run.
type RunLinks struct {
	Self     string `json:"self"`
	Events   string `json:"events" doc:"Server-sent events until the run ends"`
	Temporal string `json:"temporal,omitempty" doc:"The run's page in Temporal UI"`
}

func (g *Gateway) runLinks(id, workflowID string) RunLinks {
	self := g.link("/v1/runs/%s", id)
	return RunLinks{Self: self, Events: self + "/events", Temporal: g.Options.WorkflowLink(workflowID)}
}

// link returns the URL of a path. It is relative if PUBLIC_BASE_URL is not set.
func (g *Gateway) link(format string, args ...any) string {
	return strings.TrimRight(g.Options.PublicBaseURL, "/") + fmt.Sprintf(format, args...)
}

// accepted starts the workflow of a stored run and waits up to wait for its end.
func (g *Gateway) accepted(ctx context.Context, r run.Run, made bool, wait time.Duration) (*acceptedOutput, error) {
	if r.Status != run.Ended {
		g.Start(ctx, asking(ctx).Workspace.Key, r)
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

// Start starts the workflow of a stored run at once. If it fails, the relay starts the workflow later.
func (g *Gateway) Start(ctx context.Context, workspaceKey string, r run.Run) {
	if g.Driver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := g.Driver.Start(ctx, workspaceKey, importChannel, r); err != nil {
		g.Log.Warn("workflow start deferred to relay", "run", r.Ref.Run, "error", err)
	}
}

// await returns the run's status when the run ends, patience is over, or the gateway
// stops. The channel news is closed when a source other than the database reports the end.
func (g *Gateway) await(ctx context.Context, ref run.Ref, patience time.Duration, news <-chan struct{},
	look func() (run.Status, error)) (status run.Status, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(g.closing, cancel)()
	if status, err = look(); err != nil || status == run.Ended {
		return status, err
	}
	err = g.Waiter.Await(waiting, ref.Run, news, func() (run.Status, error) {
		status, err = look()
		return status, err
	})
	if waiting.Err() != nil && ctx.Err() == nil { // patience is over
		err = nil
	}
	return status, err
}

// report returns a run's report with URLs in place of file paths.
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
