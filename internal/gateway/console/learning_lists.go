package console

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"cairn/internal/domain/access"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/readmodel"
)

func (c *Console) learningListRoutes() {
	c.handle("GET learning/{bank}/versions", access.Read, c.bankList(c.bankVersions))
	c.handle("GET learning/{bank}/updates", access.Read, c.bankList(c.bankUpdates))
	c.handle("GET learning/{bank}/decisions", access.Read, c.bankList(c.bankDecisions))
	c.handle("GET learning/{bank}/rounds", access.Read, c.bankList(c.bankRounds))
	c.handle("GET learning/{bank}/trainings", access.Read, c.bankList(c.bankTrainings))
	c.handle("GET learning/{bank}/cases", access.Read, c.bankList(c.bankCases))
	c.handle("GET learning/{bank}/diff", access.Read, c.diffBank)
}

// bankLinks are the links to the lists of a bank.
func (rq *request) bankLinks(bank string) []link {
	out := []link{{rq.path("learning"), "learning.title"}}
	for _, list := range []string{"versions", "updates", "decisions", "rounds", "trainings", "cases"} {
		out = append(out, link{rq.path("learning", bank, list), "learning." + list})
	}
	return out
}

// bankTable reads a page of a list of a bank.
type bankTable func(rq *request, bank, cursor string, limit int) (table, error)

// bankList is the page of a list of a bank.
func (c *Console) bankList(read bankTable) func(*request) error {
	return func(rq *request) error {
		name := rq.named("bank")
		limit, err := rq.limit()
		if err != nil {
			return err
		}
		if _, err := c.Learning.Banks.At(rq.ctx, rq.ws(), name, 0); err != nil {
			return err
		}
		t, err := read(rq, name, rq.text("cursor"), limit)
		if err != nil {
			return err
		}
		return rq.render("grid", name, grid{Tables: []table{t},
			Links: []link{{rq.path("learning", name), "learning.bank"}}})
	}
}

func (c *Console) bankVersions(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "versions", Title: "learning.versions", Empty: "learning.empty",
		Columns: []string{"col.version", "skill.change", "learning.why", "col.created", "skill.actions"}}
	row, err := c.Learning.Banks.At(rq.ctx, rq.ws(), name, 0)
	if err != nil {
		return t, err
	}
	all, next, err := c.Learning.Banks.History(rq.ctx, rq.ws(), name, cursor, limit)
	t.Next = next
	for _, v := range all {
		number := cell{Text: strconv.Itoa(v.Number)}
		if v.Parent > 0 {
			number.Link = rq.path("learning", name, "diff") + fmt.Sprintf("?from=%d&to=%d", v.Parent, v.Number)
		}
		cells := []cell{number, rq.tagged("bankop", v.Action), plain(v.Reason), rq.at(v.CreatedAt), {}}
		if v.Run != "" {
			cells[1].Quiet = v.Run
		}
		if v.Number != row.Version.Number {
			cells[4].Actions = []action{{Path: rq.path("learning", name, "rollback"),
				Hidden: [][2]string{{"to", strconv.Itoa(v.Number)}},
				Button: rq.button(access.Admin, "skill.rollback", "", strconv.Itoa(v.Number))}}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t, err
}

// bankUpdates lists the updates of the policy of a bank with the comparisons of their canaries.
func (c *Console) bankUpdates(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "updates", Title: "learning.updates", Empty: "learning.no_updates",
		Columns: []string{"learning.update", "col.status", "learning.decisions", "learning.canary", "col.run",
			"col.created", "skill.actions"}}
	all, next, err := c.Learning.Updates.List(rq.ctx, rq.ws(), name, cursor, limit)
	t.Next = next
	for _, u := range all {
		canary := cell{}
		if u.Canary != nil {
			canary.Text = fmt.Sprintf("%d / %d", u.Canary.Candidate, u.Canary.Incumbent)
			if d := u.Canary.Comparison; d != nil {
				canary.Quiet = rq.comparison(d.Mean, d.Lower, d.Traces)
			}
		}
		row := []cell{rq.numeric(u.Number), rq.tagged("update", u.State), rq.numeric(u.Decisions), canary,
			rq.runLink(u.Run), rq.at(u.CreatedAt), {}}
		row[1].Quiet = u.Note
		if u.State == learning.OnCanary && u.EndedAt == nil { // others cannot be promoted
			row[6].Actions = []action{{Path: rq.path("learning", name, "promote"),
				Hidden: [][2]string{{"update", strconv.Itoa(u.Number)}},
				Button: rq.button(access.Admin, "learning.promote", "", strconv.Itoa(u.Number))}}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, err
}

func (rq *request) runLink(run string) cell {
	if run == "" {
		return cell{}
	}
	return cell{Text: run, Link: rq.path("runs", run)}
}

// comparison words the difference of a candidate to what live builds do.
func (rq *request) comparison(mean, lower float64, n int) string {
	return rq.c.pages[rq.lang].texts.Text(
		"learning.difference",
		fmt.Sprintf("%+.3f", mean),
		fmt.Sprintf("%+.3f", lower),
		n,
	)
}

func (c *Console) bankDecisions(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "decisions", Title: "learning.decisions", Empty: "learning.no_decisions",
		Columns: []string{"learning.chosen", "learning.choice", "learning.probability", "learning.of", "learning.mean",
			"col.version", "col.run", "col.created"}}
	all, next, err := c.Learning.Builds.Decisions(rq.ctx, rq.ws(), name, cursor, limit)
	t.Next = next
	for _, d := range all {
		t.Rows = append(t.Rows, rq.decisionRow(d))
	}
	return t, err
}

func (rq *request) decisionRow(d learning.ConversationView) []cell {
	choice, score := "greedy", cell{}
	if d.Sampled {
		choice = "sampled"
	}
	if d.Score != nil {
		score = cell{Text: fmt.Sprintf("%.3f", *d.Score), Number: true, Quiet: strconv.Itoa(d.Scores)}
	}
	version := cell{Text: strconv.Itoa(d.Version), Number: true}
	if d.Canary > 0 {
		version.Quiet = rq.worded("policy", "canary")
	}
	return []cell{plain(strings.Join(d.Chosen, ", ")), plain(rq.worded("choice", choice)),
		{Text: fmt.Sprintf("%.4f", d.Propensity), Number: true}, rq.numeric(d.Candidates), score, version,
		rq.runLink(d.Run), rq.at(d.CreatedAt)}
}

func (rq *request) gate(g *readmodel.Gate) cell {
	if g == nil {
		return cell{}
	}
	return plain(rq.comparison(g.Mean, g.Lower, g.Traces))
}

func (c *Console) bankRounds(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "rounds", Title: "learning.rounds", Empty: "learning.no_rounds", Command: "cairn evolve",
		Columns: []string{"learning.round", "col.status", "learning.proposed", "learning.gate", "learning.examined",
			"col.run", "col.created"}}
	all, next, err := c.Explore.Rounds(rq.ctx, rq.ws(), name, cursor, limit)
	t.Next = next
	for _, r := range all {
		status := rq.learned(r.Outcome)
		status.Quiet = r.Note
		t.Rows = append(t.Rows, []cell{rq.numeric(r.Number), status, plain(r.Summary), rq.gate(r.Gate),
			rq.numeric(r.Cases), rq.runLink(r.Run), rq.at(r.CreatedAt)})
	}
	return t, err
}

// learned is the outcome of a round or a training; empty means that it is open.
func (rq *request) learned(outcome string) cell {
	if outcome == "" {
		outcome = "open"
	}
	return rq.tagged("learned", outcome)
}

func (c *Console) bankTrainings(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "trainings", Title: "learning.trainings", Empty: "learning.no_trainings", Command: "cairn train",
		Columns: []string{"col.run", "col.status", "learning.gate", "learning.best", "learning.stages", "col.version",
			"col.created"}}
	all, next, err := c.Explore.Trainings(rq.ctx, rq.ws(), name, cursor, limit)
	t.Next = next
	for _, r := range all {
		status := rq.learned(r.Verdict)
		if r.Verdict == "" && r.Outcome != "" {
			status = rq.tagged("outcome", string(r.Outcome))
		}
		status.Quiet = r.Note
		version := cell{}
		if r.Version > 0 {
			version = rq.numeric(r.Version)
		}
		t.Rows = append(t.Rows, []cell{rq.runLink(r.Run), status, rq.gate(r.Gate),
			{Text: fmt.Sprintf("%.3f", r.Best), Number: true}, rq.numeric(r.Stages), version, rq.at(r.CreatedAt)})
	}
	return t, err
}

func (c *Console) bankCases(rq *request, name, cursor string, limit int) (table, error) {
	t := table{ID: "cases", Title: "learning.cases", Empty: "learning.no_cases",
		Columns: []string{"learning.question", "col.status", "learning.answered", "learning.gold", "outbox.failures",
			"learning.source", "col.conversation", "learning.failed_at"}}
	all, next, err := c.Explore.Cases(rq.ctx, rq.ws(), name, "", cursor, limit)
	t.Next = next
	for _, k := range all {
		conversation := cell{Text: k.Conversation}
		if k.Conversation != "" {
			conversation.Link = rq.path("conversations", k.Conversation)
		}
		t.Rows = append(t.Rows, []cell{plain(k.Question), rq.tagged("case", k.State), plain(k.Prediction),
			plain(strings.Join(k.Gold, " · ")), rq.numeric(k.Failures), plain(rq.worded("casesource", k.Source)),
			conversation, rq.at(k.FailedAt)})
	}
	return t, err
}

// bankDiff is the page that compares two versions of a bank.
type bankDiff struct {
	Bank     string
	From, To int
	Last     int // the latest version
	Policy   bool
	Changes  []bankChange
}

type bankChange struct{ Kind, Name, Diff string }

func (c *Console) diffBank(rq *request) error {
	from, err := rq.number("from", 1, 1, 1<<30)
	if err != nil {
		return err
	}
	to, err := rq.number("to", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	out := bankDiff{Bank: rq.named("bank")}
	head, err := c.Learning.Banks.At(rq.ctx, rq.ws(), out.Bank, 0)
	if err != nil {
		return err
	}
	older, err := c.Learning.Banks.At(rq.ctx, rq.ws(), out.Bank, from)
	if err != nil {
		return err
	}
	newer, err := c.Learning.Banks.At(rq.ctx, rq.ws(), out.Bank, to)
	if err != nil {
		return err
	}
	out.From, out.To, out.Last = older.Version.Number, newer.Version.Number, head.Version.Number
	out.Policy = older.Version.Policy != newer.Version.Policy
	unified := func(before, after string) string {
		return udiff.Unified(fmt.Sprintf("v%d", out.From), fmt.Sprintf("v%d", out.To), before, after)
	}
	text := func(v memoryskill.Version) string {
		if v.ID == "" {
			return ""
		}
		return v.Skill.Instructions()
	}
	for _, d := range memoryskill.Differences(older.Bank, newer.Bank) {
		out.Changes = append(out.Changes, bankChange{d.Kind, d.Name, unified(text(d.Before), text(d.After))})
	}
	for _, d := range memoryskill.PromptDifferences(older.Version.Prompts, newer.Version.Prompts) {
		out.Changes = append(out.Changes, bankChange{"prompt", d.Name, unified(d.Before, d.After)})
	}
	return rq.render("bank_diff", out.Bank, out)
}
