package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
)

const tagErase = "erase"

// ErasureReport is an erasure with its links. The erasure of a workspace also removes its
// keys, so callers wait for the report.
type ErasureReport struct {
	erasure.Erasure
	Links *ErasureLinks `json:"links,omitempty"`
}

// ErasureLinks holds the URLs of an erasure.
type ErasureLinks struct {
	Self     string `json:"self"`
	Temporal string `json:"temporal,omitempty" doc:"The erasure's page in Temporal UI"`
}

// EraseOptions holds the query parameters of an erasure.
type EraseOptions struct {
	DryRun bool `query:"dry_run" doc:"Only count the rows to erase and list the entries derived from a conversation"`
	Wait   int  `query:"wait" minimum:"0" maximum:"60" doc:"Seconds to wait for the end of the erasure"`
}

type erasedOutput struct {
	Status int
	Body   any
}

func (g *Gateway) eraseRoutes() {
	accepted := content("application/json", schemaOf[ErasureReport](g))
	responses := func() map[string]*huma.Response {
		return map[string]*huma.Response{"202": {Description: "Accepted", Content: accepted},
			"200": {Description: "The erasure has ended; with dry_run, the plan",
				Content: content("application/json",
					&huma.Schema{OneOf: []*huma.Schema{schemaOf[ErasureReport](g), schemaOf[erasure.Plan](g)}})}}
	}
	handle(g, route{method: http.MethodDelete, path: "/v1/workspace", id: "eraseWorkspace", tag: tagErase,
		scope: access.Admin, status: http.StatusAccepted, responses: responses(),
		summary: "Erase the workspace of the key and everything in it",
		about: "After the response, no key opens the workspace. The report counts what was deleted and what " +
			"remains, which must be 0."}, g.eraseWorkspace)
	handle(g, route{method: http.MethodDelete, path: "/v1/conversations/{id}", id: "eraseConversation", tag: tagErase,
		scope: access.Admin, status: http.StatusAccepted, responses: responses(),
		summary: "Erase a conversation with its messages, turns, runs, model calls and tool calls",
		about: "Memories and skills derived only from this conversation are kept without their source, quarantined " +
			"or deleted. A skill with other sources stays unchanged."}, g.eraseConversation)
	handle(g, route{method: http.MethodDelete, path: "/v1/targets/{target}", id: "eraseSubject", tag: tagErase,
		scope: access.Admin, status: http.StatusAccepted, responses: responses(),
		summary: "Erase a subject of memories: its memories, conversations and messages",
		about: "Removes the memories of a target, the conversations that concern only this target, its messages in " +
			"shared conversations, and what derives only from them. Data with other sources is kept and listed in " +
			"needs_review. A memory of the target that is written after the response belongs to the next erasure."},
		g.eraseSubject)
	handle(g, route{method: http.MethodGet, path: "/v1/erasures/{id}", id: "showErasure", tag: tagErase,
		scope: access.Admin, summary: "Get an erasure"}, g.showErasure)
}

func (g *Gateway) eraseWorkspace(ctx context.Context, in *struct{ EraseOptions }) (*erasedOutput, error) {
	return g.erase(ctx, erasure.Target{Workspace: workspace(ctx)}, in.EraseOptions)
}

func (g *Gateway) eraseConversation(ctx context.Context, in *struct {
	ID      string `path:"id" maxLength:"200" doc:"The conversation ID that messages were sent with"`
	Derived string `query:"derived" enum:"keep,quarantine,delete" default:"keep" doc:"What happens to memories and skills derived from the conversation"`
	EraseOptions
}) (*erasedOutput, error) {
	id, err := g.Conversations.Find(ctx, workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return g.erase(ctx, erasure.Target{Workspace: workspace(ctx), Conversation: id, Derived: in.Derived},
		in.EraseOptions)
}

func (g *Gateway) eraseSubject(ctx context.Context, in *struct {
	Target string `path:"target" maxLength:"200" doc:"Name of the target, for mem0 clients the user_id or agent_id"`
	EraseOptions
}) (*erasedOutput, error) {
	return g.erase(ctx, erasure.Target{Workspace: workspace(ctx), Subject: in.Target}, in.EraseOptions)
}

func (g *Gateway) erase(ctx context.Context, t erasure.Target, o EraseOptions) (*erasedOutput, error) {
	if o.DryRun {
		plan, err := g.Erase.Plan(ctx, t)
		return &erasedOutput{http.StatusOK, plan}, err
	}
	e, err := g.Erase.Accept(ctx, t)
	if err != nil {
		return nil, err
	}
	g.StartErase(ctx, e)
	if e, err = g.awaitErase(ctx, e, time.Duration(o.Wait)*time.Second); err != nil {
		return nil, err
	}
	out := &erasedOutput{http.StatusAccepted, g.erasure(e)}
	if e.Ended {
		out.Status = http.StatusOK
	}
	return out, nil
}

// StartErase starts the workflow of an accepted erasure at once. If it fails, the relay starts it later.
func (g *Gateway) StartErase(ctx context.Context, e erasure.Erasure) {
	if g.Driver == nil || e.Ended {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := g.Driver.Erase(ctx, e.Start()); err != nil {
		g.Log.Warn("erasure start deferred to relay", "erasure", e.ID, "error", err)
	}
}

// awaitErase returns the erasure when it has ended, patience is over, or the gateway
// stops.
func (g *Gateway) awaitErase(ctx context.Context, e erasure.Erasure, patience time.Duration) (erasure.Erasure, error) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !e.Ended && patience > 0 {
		select {
		case <-ctx.Done():
			return e, ctx.Err()
		case <-enough.C:
			return e, nil
		case <-g.closing.Done():
			return e, nil
		case <-look.C:
		}
		var err error
		if e, err = g.Erase.Report(ctx, e.Workspace, e.ID); err != nil {
			return e, err
		}
	}
	return e, nil
}

func (g *Gateway) erasure(e erasure.Erasure) ErasureReport {
	out := ErasureReport{Erasure: e}
	if !e.Whole() {
		out.Links = &ErasureLinks{Self: g.link("/v1/erasures/%d", e.ID),
			Temporal: g.Options.WorkflowLink(e.WorkflowID())}
	}
	return out
}

func (g *Gateway) showErasure(ctx context.Context, in *struct {
	ID int64 `path:"id" minimum:"1" doc:"The erasure's ID"`
}) (*bodyOf[ErasureReport], error) {
	e, err := g.Erase.Report(ctx, workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &bodyOf[ErasureReport]{g.erasure(e)}, nil
}
