package console

import (
	"cairn/internal/domain/access"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
	"cairn/internal/service/health"
	"cairn/internal/service/inbox"
)

func (c *Console) overviewRoutes() {
	c.handle("GET {$}", access.Read, c.overview)
}

type overviewPage struct {
	Waiting, Blocking int
	Top               []inbox.Item
	Runs              []readmodel.KindUsage // of 24 hours
	Budget            int64                 // micro-dollars a day
	Unlimited         bool
	Tokens            int64 // a day; 0 means no limit
	Counts            dumpfile.Counts
	Health            []health.Reason
	UsedMicros        int64 // today, UTC
	UsedTokens        int64
}

const (
	maxWaiting = 1000 // items of a kind that are counted
	topWaiting = 5
)

func (c *Console) overview(rq *request) error {
	items, err := c.Inbox.List(rq.ctx, rq.actor(), maxWaiting)
	if err != nil {
		return err
	}
	var out overviewPage
	for _, i := range items {
		if i.State != "pending" {
			continue
		}
		out.Waiting++
		if i.Severity == approval.Block {
			out.Blocking++
		}
		if len(out.Top) < topWaiting {
			out.Top = append(out.Top, i)
		}
	}
	used, err := c.Workspaces.Insights(rq.ctx, rq.ws(), 1)
	if err != nil {
		return err
	}
	out.Runs = used.Runs
	chosen, err := c.Workspaces.Settings(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	out.Budget, out.Unlimited = int64(chosen.MicrosPerDay), chosen.MicrosPerDay == settings.Unlimited
	out.Tokens = chosen.TokensPerDay
	if out.Counts, err = c.Workspaces.Counts(rq.ctx, rq.ws()); err != nil {
		return err
	}
	if out.UsedTokens, out.UsedMicros, err = c.Explore.Spent(rq.ctx, rq.ws()); err != nil {
		return err
	}
	if out.Health, err = c.Health.Reasons(rq.ctx, rq.ws()); err != nil {
		return err
	}
	return rq.render("overview", "overview.title", out)
}
