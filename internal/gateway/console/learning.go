package console

import (
	"fmt"
	"strconv"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/service/inspect"
)

func (c *Console) learningRoutes() {
	c.handle("GET learning", access.Read, c.listBanks)
	c.handle("GET learning/{bank}", access.Read, c.showBank)
	c.handle("POST learning/{bank}/rollback", access.Admin, c.rollbackBank)
	c.handle("POST learning/{bank}/promote", access.Admin, c.promoteUpdate)
	c.handle("POST learning/{bank}/freeze", access.Admin, c.freezeBank)
	c.handle("POST learning/{bank}/unfreeze", access.Admin, c.unfreezeBank)
}

func (c *Console) listBanks(rq *request) error {
	banks, err := c.Learning.Banks.List(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	t := table{
		ID:      "banks",
		Title:   "learning.banks",
		Empty:   "learning.empty",
		Command: `cairn settings set memory.builder='"skills"'`,
		Columns: []string{
			"col.name",
			"col.version",
			"nav.skills",
			"learning.open_cases",
			"col.updated",
			"learning.frozen",
			"skill.actions",
		},
	}
	for _, b := range banks {
		t.Rows = append(t.Rows, []cell{{Text: b.Name, Link: rq.path("learning", b.Name)}, rq.numeric(b.Version),
			rq.numeric(b.Skills), rq.numeric(b.OpenCases), rq.at(b.CreatedAt), rq.at(b.FrozenAt),
			{Actions: []action{rq.freezing(b.Name, b.FrozenAt != nil)}}})
	}
	return rq.render("grid", "learning.title", grid{About: "learning.about", Tables: []table{t}})
}

// freezing is the button that freezes a bank, or ends that.
func (rq *request) freezing(bank string, frozen bool) action {
	if frozen {
		return action{Path: rq.path("learning", bank, "unfreeze"),
			Button: rq.button(access.Admin, "learning.unfreeze", "", bank)}
	}
	return action{Path: rq.path("learning", bank, "freeze"),
		Button: rq.button(access.Admin, "learning.freeze", "", bank)}
}

// latestShown is the number of versions and of updates on the page of a bank.
const latestShown = 10

func (c *Console) showBank(rq *request) error {
	name := rq.named("bank")
	head, err := c.Learning.Banks.At(rq.ctx, rq.ws(), name, 0)
	if err != nil {
		return err
	}
	skills := table{ID: "skills", Title: "learning.skills", Empty: "learning.empty",
		Columns: []string{"col.name", "learning.purpose"}}
	for _, v := range head.Bank.Versions() {
		skills.Rows = append(
			skills.Rows,
			[]cell{{Text: v.Skill.Name, Quiet: v.Skill.Title}, plain(v.Skill.Description)},
		)
	}
	versions, err := c.bankVersions(rq, name, "", latestShown)
	if err != nil {
		return err
	}
	updates, err := c.bankUpdates(rq, name, "", latestShown)
	if err != nil {
		return err
	}
	versions.Next, updates.Next = "", "" // their own pages have the others
	scores, err := c.Explore.Scores(rq.ctx, rq.ws(), name, rq.zone)
	if err != nil {
		return err
	}
	out := grid{Tables: []table{skills, versions, updates}, Curves: c.curves(rq, scores), Links: rq.bankLinks(name)}
	do := rq.freezing(name, head.Frozen())
	if head.Frozen() {
		out.About = "learning.frozen_about"
	}
	out.Forms = []form{{ID: "freeze", Title: do.Button.Label, Path: do.Path, Button: do.Button}}
	return rq.render("grid", name, out)
}

// curves returns the curves of the scores of the active policy and of those on trial, nil without scores.
func (c *Console) curves(rq *request, scores []inspect.Score) *curves {
	if len(scores) == 0 {
		return nil
	}
	out := &curves{From: scores[0].Day, To: scores[len(scores)-1].Day, Numbers: table{Columns: []string{"col.date",
		"learning.policy", "learning.n", "learning.mean", "learning.interval"}}}
	first, _ := time.Parse(time.DateOnly, out.From)
	last, _ := time.Parse(time.DateOnly, out.To)
	points := map[bool][]chartPoint{}
	for _, s := range scores {
		day, _ := time.Parse(time.DateOnly, s.Day) // the database has formatted it
		at := 0.5                                  // of a single day
		if last.After(first) {
			at = float64(day.Sub(first)) / float64(last.Sub(first))
		}
		points[s.Canary] = append(points[s.Canary], chartPoint{At: at, Value: s.Mean, Low: s.Low, Top: s.High})
		of := "active"
		if s.Canary {
			of = "canary"
		}
		out.Numbers.Rows = append(out.Numbers.Rows, []cell{plain(s.Day), {Text: rq.worded("policy", of)},
			rq.numeric(s.N), {Text: fmt.Sprintf("%.3f", s.Mean), Number: true},
			{Text: fmt.Sprintf("%.3f–%.3f", s.Low, s.High), Number: true}})
	}
	out.Curves = append(out.Curves, newChartCurve("active", points[false]))
	if len(points[true]) > 0 {
		out.Curves = append(out.Curves, newChartCurve("canary", points[true]))
	}
	return out
}

func (rq *request) postedNumber(name string) (int, error) {
	n, err := strconv.Atoi(rq.r.PostFormValue(name))
	if err != nil || n < 1 {
		return 0, fault.New(fault.InvalidArgument, "invalid "+name, "use the buttons of the page")
	}
	return n, nil
}

func (c *Console) rollbackBank(rq *request) error {
	to, err := rq.postedNumber("to")
	if err != nil {
		return err
	}
	if _, err := c.Learning.Banks.Rollback(rq.ctx, rq.ws(), rq.named("bank"), to); err != nil {
		return rq.again(err, c.showBank)
	}
	return rq.redirect("rolled_back", "learning", rq.named("bank"))
}

func (c *Console) promoteUpdate(rq *request) error {
	number, err := rq.postedNumber("update")
	if err != nil {
		return err
	}
	if _, err := c.Learning.Updates.Promote(rq.ctx, rq.ws(), rq.named("bank"), number); err != nil {
		return rq.again(err, c.showBank)
	}
	return rq.redirect("promoted", "learning", rq.named("bank"))
}

func (c *Console) freezeBank(rq *request) error   { return c.setFrozen(rq, true) }
func (c *Console) unfreezeBank(rq *request) error { return c.setFrozen(rq, false) }

func (c *Console) setFrozen(rq *request, frozen bool) error {
	if _, err := c.Learning.Banks.Freeze(rq.ctx, rq.ws(), rq.named("bank"), frozen); err != nil {
		return rq.again(err, c.showBank)
	}
	done := "unfrozen"
	if frozen {
		done = "frozen"
	}
	return rq.redirect(done, "learning", rq.named("bank"))
}
