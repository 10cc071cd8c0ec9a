package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/apikey"
	"cairn/internal/service/reflection"
)

const tagReflections = "reflections"

// ReflectionList is a page of dates, the latest first.
type ReflectionList struct {
	Reflections []reflection.Day `json:"reflections"`
}

// ReflectBody asks for a date, or for every date from one to another.
type ReflectBody struct {
	Date string `json:"date,omitempty" doc:"Local date, as 2026-03-01; today when all is left out"`
	From string `json:"from,omitempty" doc:"First of several dates"`
	To   string `json:"to,omitempty" doc:"Last of them, included"`
	Redo bool   `json:"redo,omitempty" doc:"Read it again although it is done, and pay again"`
}

// AcceptedReflection is one date that is durable.
type AcceptedReflection struct {
	Date   string     `json:"date"`
	Run    int64      `json:"run"`
	New    bool       `json:"new"`
	State  run.Status `json:"state"`
	Status string     `json:"status,omitempty" doc:"saved, nothing_to_save, empty, partial or failed, once it has ended"`
	Links  RunLinks   `json:"links"`
}

// AcceptedReflections are the dates that were asked for.
type AcceptedReflections struct {
	Reflections []AcceptedReflection `json:"reflections"`
}

type reflectedOutput struct {
	Status int
	Body   AcceptedReflections
}

func (g *Gateway) reflectionRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/reflections", id: "listReflections", tag: tagReflections,
		scope: apikey.Read, summary: "List what local dates came to, the latest first"}, g.listReflections)
	handle(g, route{method: http.MethodGet, path: "/v1/reflections/{date}", id: "showReflection", tag: tagReflections,
		scope: apikey.Read, summary: "Show a local date with its runs and notes"}, g.showReflection)
	accepted := content("application/json", schemaOf[AcceptedReflections](g))
	handle(g, route{method: http.MethodPost, path: "/v1/reflections", id: "reflect", tag: tagReflections,
		scope: apikey.Write, status: http.StatusAccepted,
		responses: map[string]*huma.Response{"200": {Description: "All of them have ended", Content: accepted},
			"202": {Description: "Accepted", Content: accepted}},
		summary: "Look back on a day: notes, memories and skills of its conversations",
		about: "Of today what is unread so far is read, of an earlier date what was said on it. A date that is " +
			"done stays as it is; one that failed is done again. A workspace that has turned reflection off in its " +
			"settings is refused: turned_off."}, g.reflect)
}

func (g *Gateway) listReflections(ctx context.Context, in *struct {
	From  string `query:"from" doc:"First date"`
	To    string `query:"to" doc:"Last date, included"`
	Limit int    `query:"limit" default:"30" minimum:"1" maximum:"1000"`
}) (*bodyOf[ReflectionList], error) {
	days, err := g.Reflect.List(ctx, workspace(ctx), in.From, in.To, in.Limit)
	return &bodyOf[ReflectionList]{ReflectionList{days}}, err
}

func (g *Gateway) showReflection(ctx context.Context, in *struct {
	Date string `path:"date" doc:"Local date, as 2026-03-01"`
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
		err = fault.New(fault.InvalidArgument, "both a date and several are given", "send date, or from and to")
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

// awaitReflection returns a run when it has ended, when the caller's patience
// has, or when the gateway stops.
func (g *Gateway) awaitReflection(ctx context.Context, ref run.Ref, until time.Time) (r run.Run, err error) {
	_, err = g.await(ctx, ref, time.Until(until), nil, func() (run.Status, error) {
		r, err = g.Reflect.Run(ctx, ref)
		return r.Status, err
	})
	return r, err
}
