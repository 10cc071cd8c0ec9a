package console

import (
	"context"
	"net/http"
	"strconv"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/service/apikey"
)

// OperatorRoot is the path of the console of operators.
const OperatorRoot = Root + "operator/"

// Names of the cookie of operators, as those of the other cookie.
const (
	secureOperatorCookie = "__Host-cairn-operator"
	localOperatorCookie  = "cairn-operator"
)

func (c *Console) operatorRoutes() {
	c.mux.HandleFunc("GET "+OperatorRoot+"{$}", c.operator(c.listWorkspaces))
	c.mux.HandleFunc("GET "+OperatorRoot+"workspaces/{id}", c.operator(c.showWorkspace))
	c.mux.HandleFunc("POST "+OperatorRoot+"sign-out", c.open(c.signOutOperator))
}

func (rq *request) operatorCookieName() string {
	if rq.transport() == encrypted {
		return secureOperatorCookie
	}
	return localOperatorCookie
}

func (rq *request) operatorCookie() string {
	if rq.transport() == insecure {
		return ""
	}
	if c, err := rq.r.Cookie(rq.operatorCookieName()); err == nil {
		return c.Value
	}
	return ""
}

func (rq *request) setOperatorCookie(value string) {
	c := &http.Cookie{Name: rq.operatorCookieName(), Value: value, Path: "/", HttpOnly: true,
		Secure: rq.transport() == encrypted, SameSite: http.SameSiteStrictMode,
		MaxAge: int(apikey.ConsoleSessionLife.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(rq.w, c)
}

// operator returns a handler for operators with the scope support.
func (c *Console) operator(fn func(*request) error) http.HandlerFunc {
	return c.open(func(rq *request) error {
		cookie := rq.operatorCookie()
		if cookie == "" {
			return rq.needSignIn()
		}
		var o access.Operator
		known, err := rq.known(func(ctx context.Context) (err error) {
			o, err = c.Support.Find(ctx, cookie)
			return err
		})
		if err != nil {
			return err
		}
		if !known {
			return rq.needSignIn()
		}
		rq.isOperator = true
		rq.ctx = audit.WithKey(rq.ctx, audit.Operator, o.Key)
		return fn(rq)
	})
}

// signInOperator signs a browser in with an operator key.
func (c *Console) signInOperator(rq *request, key string) error {
	_, o, err := c.Edge.AdmitOperator(rq.r, key, access.Support)
	if err != nil {
		return rq.again(err, c.showSignIn)
	}
	cookie, err := c.Support.SignIn(rq.ctx, o)
	if err != nil {
		return rq.again(err, c.showSignIn)
	}
	rq.setOperatorCookie(cookie)
	http.Redirect(rq.w, rq.r, c.base+OperatorRoot, http.StatusSeeOther)
	return nil
}

func (c *Console) signOutOperator(rq *request) error {
	if cookie := rq.operatorCookie(); cookie != "" {
		if err := c.Support.SignOut(rq.ctx, cookie); err != nil {
			return err
		}
	}
	rq.setOperatorCookie("")
	http.Redirect(rq.w, rq.r, c.base+Root+"sign-in", http.StatusSeeOther)
	return nil
}

func (c *Console) listWorkspaces(rq *request) error {
	after, err := rq.number("cursor", 0, 0, 1<<60)
	if err != nil {
		return err
	}
	page, next, err := c.Support.Workspaces(rq.ctx, int64(after), perPage)
	if err != nil {
		return err
	}
	t := table{ID: "workspaces", Title: "operator.workspaces", Empty: "operator.empty", Columns: []string{
		"operator.workspace", "run.state", "nav.conversations", "nav.memories", "nav.skills", "operator.open",
		"operator.failed", "nav.outbox", "col.calls", "col.tokens", "col.cost", "col.last_turn"}}
	for _, w := range page {
		id := strconv.FormatInt(w.ID, 10)
		t.Rows = append(t.Rows, []cell{{Text: id, Link: c.base + OperatorRoot + "workspaces/" + id, Quiet: w.Key},
			rq.tagged("workspace", w.State), rq.numeric(w.Conversations), rq.numeric(w.Memories), rq.numeric(w.Skills),
			rq.numeric(w.OpenRuns), rq.numeric(w.FailedRuns), rq.stuck(w), rq.numeric(w.Calls), rq.numeric(w.Tokens),
			rq.spent(w), rq.at(w.LastTurn)})
	}
	if next != 0 {
		t.Next = strconv.FormatInt(next, 10)
	}
	health, err := c.installation(rq)
	if err != nil {
		return err
	}
	return rq.render("grid", "operator.title", grid{About: "operator.about", Tables: []table{health, t}})
}

// installation lists what is wrong with the installation.
func (c *Console) installation(rq *request) (table, error) {
	t := table{ID: "health", Title: "overview.health", Empty: "overview.healthy",
		Columns: []string{"inbox.reason", "operator.effect", "operator.remedy", "overview.since"}}
	all, err := c.Health.Installed(rq.ctx)
	for _, r := range all {
		row := []cell{{Text: rq.worded("health", r.Code), Quiet: string(r.Code) + " " + r.Name},
			{Text: rq.worded("effects", r.Code)}, {Text: rq.worded("remedy", r.Code), Quiet: r.Detail}, rq.at(r.Since)}
		t.Rows = append(t.Rows, row)
	}
	return t, err
}

func (rq *request) stuck(w access.WorkspaceSummary) cell {
	out := rq.numeric(w.Waiting)
	if w.Stuck > 0 {
		out.Quiet = rq.c.pages[rq.lang].texts.Text("operator.stuck", w.Stuck)
	}
	return out
}

func (rq *request) spent(w access.WorkspaceSummary) cell {
	return cell{Text: rq.c.pages[rq.lang].micros(readmodel.Cost(w.Micros, w.Calls, w.Unpriced)), Number: true}
}

func (c *Console) showWorkspace(rq *request) error {
	id, err := strconv.ParseInt(rq.named("id"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, "there is no such workspace", "choose one in the list")
	}
	w, counts, err := c.Support.Workspace(rq.ctx, id)
	if err != nil {
		return err
	}
	t := table{ID: "counts", Title: "operator.counts", Empty: "overview.no_runs",
		Columns: []string{"operator.what", "col.kind", "operator.code", "operator.number", "operator.latest"}}
	for _, n := range counts {
		kind := n.Kind
		if n.What == "run" {
			kind = rq.worded("run", n.Kind)
		}
		t.Rows = append(t.Rows, []cell{{Text: rq.worded("counted", n.What)}, plain(kind), plain(n.Code),
			rq.numeric(n.N), rq.at(n.Latest)})
	}
	return rq.render("grid", "operator.title", grid{About: "operator.workspace_about", Tables: []table{
		{ID: "workspace", Title: "operator.workspace", Columns: []string{"operator.workspace", "run.state",
			"col.created", "operator.open", "operator.failed", "nav.outbox", "col.cost"},
			Rows: [][]cell{{{Text: strconv.FormatInt(w.ID, 10), Quiet: w.Key}, rq.tagged("workspace", w.State),
				rq.at(w.CreatedAt), rq.numeric(w.OpenRuns), rq.numeric(w.FailedRuns), rq.stuck(w), rq.spent(w)}}}, t},
		Links: []link{{c.base + OperatorRoot, "operator.workspaces"}}})
}
