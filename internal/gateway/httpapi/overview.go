package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/service/health"
)

type (
	// HealthReason is something that is wrong: since when, what it means for users, and what to do.
	HealthReason health.Reason
	// RunUsage is the usage of the runs of one kind.
	RunUsage readmodel.KindUsage
)

// Overview is what needs a person, what is wrong, and what the last day cost.
type Overview struct {
	Waiting  int            `json:"waiting" doc:"Items of the inbox that wait for a decision, at most 1,000 of each kind"`
	Blocking int            `json:"blocking" doc:"Those of them with blocking findings"`
	Health   []HealthReason `json:"health" doc:"What is wrong, problems first; empty if nothing is"`
	Runs     []RunUsage     `json:"runs" doc:"Runs of the last 24 hours by kind"`
	Budget   DayBudget      `json:"budget"`
}

// DayBudget compares the usage of the UTC day with its limits.
type DayBudget struct {
	Tokens      int64  `json:"tokens" doc:"Used today"`
	TokensLimit int64  `json:"tokens_limit,omitempty" doc:"tokens_per_day; absent without a limit"`
	Micros      int64  `json:"cost_micros" doc:"Micro-dollars of today, of calls with a known price"`
	MicrosLimit *int64 `json:"cost_micros_limit,omitempty" doc:"micros_per_day; absent without a limit"`
}

func (g *Gateway) overviewRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/overview", id: "overview", tag: tagRuns, scope: access.Read,
		summary: "Get what waits for a person, what is wrong, and what the day cost",
		about: "Each reason in `health` has a stable code, its effect on users and a remedy. Dependencies are asked " +
			"at most every 5 seconds."}, g.overview)
}

// maxWaiting is the number of items of each kind that the overview counts.
const maxWaiting = 1000

func (g *Gateway) overview(ctx context.Context, _ *struct{}) (*bodyOf[Overview], error) {
	out := Overview{Health: []HealthReason{}, Runs: []RunUsage{}}
	items, err := g.ReviewInbox.List(ctx, person(ctx, IdempotencyKey{}), maxWaiting)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		if i.State != "pending" {
			continue
		}
		out.Waiting++
		if i.Severity == approval.Block {
			out.Blocking++
		}
	}
	reasons, err := g.Health.Reasons(ctx, workspace(ctx))
	if err != nil {
		return nil, err
	}
	for _, r := range reasons {
		out.Health = append(out.Health, HealthReason(r))
	}
	used, err := g.Workspaces.Insights(ctx, workspace(ctx), 1)
	if err != nil {
		return nil, err
	}
	for _, r := range used.Runs {
		out.Runs = append(out.Runs, RunUsage(r))
	}
	chosen, err := g.Workspaces.Settings(ctx, workspace(ctx))
	if err != nil {
		return nil, err
	}
	out.Budget.TokensLimit = chosen.TokensPerDay
	if limit := int64(chosen.MicrosPerDay); chosen.MicrosPerDay != settings.Unlimited {
		out.Budget.MicrosLimit = &limit
	}
	out.Budget.Tokens, out.Budget.Micros, err = g.Explore.Spent(ctx, workspace(ctx))
	return &bodyOf[Overview]{out}, err
}
