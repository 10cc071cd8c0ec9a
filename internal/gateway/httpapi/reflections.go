package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/service/reflection"
)

const tagReflections = "reflections"

// ReflectionList is a page of reflections, the latest date first.
type ReflectionList struct {
	Reflections []domainreflection.Day `json:"reflections"`
}

// ReflectBody requests the reflection of one date or of a range of dates.
type ReflectBody struct {
	Date string `json:"date,omitempty" doc:"Local date, such as 2026-03-01; default: today"`
	From string `json:"from,omitempty" doc:"First date of a range"`
	To   string `json:"to,omitempty" doc:"Last date of the range, inclusive"`
	Redo bool   `json:"redo,omitempty" doc:"Repeat a finished reflection; its model calls are paid again"`
}

// AcceptedReflection is one date whose reflection is stored durably.
type AcceptedReflection struct {
	Date   string     `json:"date"`
	Run    string     `json:"run"`
	New    bool       `json:"new"`
	State  run.Status `json:"state"`
	Status string     `json:"status,omitempty" doc:"Result of an ended reflection: saved, nothing_to_save, empty, partial or failed"`
	Links  RunLinks   `json:"links"`
}

// AcceptedReflections holds the requested dates.
type AcceptedReflections struct {
	Reflections []AcceptedReflection `json:"reflections"`
}

type reflectedOutput struct {
	Status int
	Body   AcceptedReflections
}

func (g *Gateway) reflectionRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/reflections", id: "listReflections", tag: tagReflections,
		scope: access.Read, summary: "List reflections by local date, the latest first"}, g.listReflections)
	handle(g, route{method: http.MethodGet, path: "/v1/reflections/{date}", id: "showReflection", tag: tagReflections,
		scope: access.Read, summary: "Get the reflection of a local date with its runs and notes"}, g.showReflection)
	accepted := content("application/json", schemaOf[AcceptedReflections](g))
	handle(g, route{
		method: http.MethodPost,
		path:   "/v1/reflections",
		id:     "reflect",
		tag:    tagReflections,
		scope:  access.Write,
		status: http.StatusAccepted,
		responses: map[string]*huma.Response{"200": {Description: "All reflections have ended", Content: accepted},
			"202": {Description: "Accepted", Content: accepted}},
		summary: "Reflect on a day: save notes, memories and skills from its conversations",
		about: "The reflection of today reads the unread messages, that of an earlier date the messages of the " +
			"date. A finished date stays unchanged; a failed one is repeated. If the workspace has turned off " +
			"reflection in its settings, the request fails with turned_off.",
	}, g.reflect)
}

func (g *Gateway) listReflections(ctx context.Context, in *struct {
	From  string `query:"from" doc:"First date"`
	To    string `query:"to" doc:"Last date, inclusive"`
	Limit int    `query:"limit" default:"30" minimum:"1" maximum:"1000"`
}) (*bodyOf[ReflectionList], error) {
	days, err := g.Reflect.List(ctx, workspace(ctx), in.From, in.To, in.Limit)
	return &bodyOf[ReflectionList]{ReflectionList{days}}, err
}

func (g *Gateway) showReflection(ctx context.Context, in *struct {
	Date string `path:"date" doc:"Local date, such as 2026-03-01"`
}) (*bodyOf[reflection.DayDetail], error) {
	d, err := g.Reflect.Show(ctx, workspace(ctx), in.Date)
	return &bodyOf[reflection.DayDetail]{d}, err
}

func (g *Gateway) reflect(ctx context.Context, in *struct {
	Wait int `query:"wait" minimum:"0" maximum:"60" doc:"Seconds to wait for the end"`
	Body ReflectBody
}) (*reflectedOutput, error) {
	from, out := asking(ctx), &reflectedOutput{Status: http.StatusOK,
		Body: AcceptedReflections{Reflections: []AcceptedReflection{}}}
	until := time.Now().Add(time.Duration(in.Wait) * time.Second)
	add := func(o reflection.OpenResult) error {
		one := AcceptedReflection{Date: o.Run.Key, Run: o.Run.Ref.Run, New: o.Made, State: o.Run.Status,
			Links: g.runLinks(o.Run.Ref.Run, o.Run.WorkflowID)}
		out.Body.Reflections = append(out.Body.Reflections, one)
		return nil
	}
	var err error
	switch {
	case in.Body.From == "" && in.Body.To == "":
		var o reflection.OpenResult
		if o, err = g.Reflections.Now(ctx, from.Workspace,
			reflection.DateRequest{Date: in.Body.Date, Redo: in.Body.Redo}); err == nil {
			err = add(o)
		}
	case in.Body.Date != "":
		err = fault.New(fault.InvalidArgument, "date and a range are both set", "send either date, or from and to")
	default:
		err = g.Reflections.Backfill(ctx, from.Workspace, in.Body.From, in.Body.To, in.Body.Redo, add)
	}
	if err != nil {
		return nil, err
	}
	for i := range out.Body.Reflections {
		one := &out.Body.Reflections[i]
		r, err := g.awaitReflection(ctx, run.Ref{Workspace: from.Workspace.ID, Run: one.Run}, until)
		if err != nil {
			return nil, err
		}
		if one.State = r.Status; r.Status == run.Ended {
			one.Status = r.Reason
			continue
		}
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// awaitReflection returns a run when it has ended, the time until is reached, or the
// gateway stops.
func (g *Gateway) awaitReflection(ctx context.Context, ref run.Ref, until time.Time) (r run.Run, err error) {
	_, err = g.await(ctx, ref, time.Until(until), nil, func() (run.Status, error) {
		r, err = g.Reflect.Run(ctx, ref)
		return r.Status, err
	})
	return r, err
}
