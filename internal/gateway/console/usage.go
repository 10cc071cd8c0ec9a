package console

import (
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/readmodel"
	"cairn/internal/service/inspect"
)

func (c *Console) usageRoutes() {
	c.handle("GET usage", access.Read, c.showUsage)
}

// bars are the costs of days, or their tokens if no cost is known.
type bars struct {
	Bars     []chartColumn
	From, To string
}

func (c *Console) showUsage(rq *request) error {
	from, to, err := inspect.Days(rq.zone.String(), rq.text("from"), rq.text("to"))
	if err != nil {
		return err
	}
	rows, err := c.Explore.Usage(rq.ctx, rq.ws(), rq.zone, from, to)
	if err != nil {
		return err
	}
	fields := []field{{Name: "from", Label: "usage.from", Kind: "date", Value: from.Format(time.DateOnly)},
		{Name: "to", Label: "usage.to", Kind: "date", Value: to.Format(time.DateOnly)}}
	out := grid{About: "usage.about", Forms: []form{{ID: "filter", Get: true, Button: button{Label: "list.apply"},
		Fields: fields}}, Tables: []table{
		c.sums(rq, "models", "usage.models", "overview.model", rows, func(u readmodel.Usage) string { return u.Model }),
		c.sums(rq, "kinds", "usage.kinds", "col.kind", rows, func(u readmodel.Usage) string {
			return rq.worded("run", u.Kind)
		}),
		c.sums(rq, "days", "usage.days", "col.date", rows, func(u readmodel.Usage) string { return u.Day })}}
	if len(rows) > 0 {
		out.Bars = &bars{chartColumns(perDay(rows, from, to)), from.Format(time.DateOnly), to.Format(time.DateOnly)}
	}
	return rq.render("grid", "usage.title", out)
}

// perDay returns the cost of each day, or its tokens if no cost is known.
func perDay(rows []readmodel.Usage, from, to time.Time) (out []float64) {
	cost, tokens := map[string]float64{}, map[string]float64{}
	for _, u := range rows {
		cost[u.Day] += float64(u.Micros)
		tokens[u.Day] += float64(u.Input + u.Output)
	}
	total := 0.0
	for _, v := range cost {
		total += v
	}
	of := cost
	if total == 0 {
		of = tokens
	}
	for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
		out = append(out, of[day.Format(time.DateOnly)])
	}
	return out
}

// sums adds the usage of rows with the same name.
func (c *Console) sums(rq *request, id, title, column string, rows []readmodel.Usage,
	name func(readmodel.Usage) string) table {
	t := table{ID: id, Title: title, Empty: "overview.no_runs", Columns: []string{column, "col.calls", "run.input",
		"run.output", "col.cost"}}
	sum := map[string]readmodel.Usage{}
	var names []string
	for _, u := range rows {
		n := name(u)
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
		s := sum[n]
		s.Calls, s.Input, s.Output = s.Calls+u.Calls, s.Input+u.Input, s.Output+u.Output
		s.Micros, s.Unpriced = s.Micros+u.Micros, s.Unpriced+u.Unpriced
		sum[n] = s
	}
	if id != "days" { // these are in order already
		slices.SortFunc(names, strings.Compare)
	}
	p := rq.c.pages[rq.lang]
	for _, n := range names {
		s := sum[n]
		cost := cell{Text: p.micros(readmodel.Cost(s.Micros, s.Calls, s.Unpriced)), Number: true}
		if s.Unpriced > 0 && s.Unpriced < s.Calls {
			cost.Quiet = p.texts.Text("cost.plus_unpriced", s.Unpriced)
		}
		t.Rows = append(t.Rows, []cell{plain(n), rq.numeric(s.Calls), rq.numeric(s.Input), rq.numeric(s.Output), cost})
	}
	return t
}
