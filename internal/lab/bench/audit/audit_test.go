package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/bench/audit"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

const queries = `-- Of a test.

-- name: workspaces
select count(*)::int
from cairn.workspaces

-- name: nothing
select count(*)::int from cairn.there_is_no_such_table
`

func open(t *testing.T, url string) *audit.Audit {
	t.Helper()
	a, err := audit.Open(t.Context(), url, queries)
	testkit.Must(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestQueriesAreFoundByName(t *testing.T) {
	t.Parallel()
	a := open(t, pgtest.Database(t))
	if got := a.Text("workspaces"); got != "select count(*)::int\nfrom cairn.workspaces" {
		t.Errorf("%q", got)
	}
	if n, err := a.Number(t.Context(), "workspaces"); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := a.Number(t.Context(), "nothing"); err == nil || !strings.Contains(err.Error(), "count nothing") {
		t.Errorf("%v", err)
	}
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "work") {
			t.Errorf("unknown query: %s", said)
		}
	}()
	a.Text("work")
}

func TestAnAddressThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := audit.Open(t.Context(), "postgres://host:port/", queries); err == nil {
		t.Error("Open accepted an invalid URL")
	}
}

// paying is a run with model calls to a scripted server.
type paying struct {
	*audit.Audit
	calls  *ledger.Ledger
	model  *openai.Client
	server *openaitest.Server
	run    run.Ref
	t      *testing.T
}

func pays(t *testing.T) *paying {
	t.Helper()
	url := pgtest.Database(t)
	db, err := store.Open(t.Context(), url, store.Options{MaxConns: 4})
	testkit.Must(t, err)
	t.Cleanup(db.Close)
	ws, err := db.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	said := transcript.Conversation{ID: "c", Messages: []transcript.Message{{Role: transcript.User, Content: "x"}}}
	r, _, err := db.Accept(t.Context(), distillation.AcceptedRequest{Workspace: ws.ID, Key: "k", Spec: []byte("{}"),
		Channel: "import", Conversation: said, WorkflowID: func(int, int) string { return "w" }})
	testkit.Must(t, err)
	p := &paying{Audit: open(t, url), server: openaitest.New(t), run: r.Ref, t: t}
	p.server.On(openaitest.Rule{Stage: "test", Reply: "Hello."})
	p.model = openai.New(openai.Config{BaseURL: p.server.URL})
	p.calls = &ledger.Ledger{Ports: ledger.Ports{Store: db, Model: p.model, Lease: time.Minute,
		StoreRetryFor: time.Minute}}
	return p
}

func (p *paying) request(step string) llm.Request {
	return llm.Request{Model: "scripted", Messages: llm.User(step), MaxTokens: 100,
		Label: llm.Label{Stage: "test", Run: fmt.Sprint(p.run.Run), Task: step}}
}

// ask makes a call through the ledger.
func (p *paying) ask(step string) {
	p.t.Helper()
	_, err := p.calls.Call(p.t.Context(), run.CallKey{Ref: p.run, Step: step}, p.request(step), 0)
	testkit.Must(p.t, err)
}

// send makes a call that the ledger does not record.
func (p *paying) send(step string) {
	p.t.Helper()
	prepared, err := p.model.Prepare(p.request(step))
	testkit.Must(p.t, err)
	_, err = p.model.Send(p.t.Context(), prepared)
	testkit.Must(p.t, err)
}

// counts audits the calls.
func (p *paying) counts() (audit.Calls, string) {
	p.t.Helper()
	c, findings, err := p.Calls(p.t.Context(), p.server)
	testkit.Must(p.t, err)
	return c, strings.Join(findings, "\n")
}

func TestCallsThatWerePaidOnceAreInOrder(t *testing.T) {
	t.Parallel()
	p := pays(t)
	if got, findings := p.counts(); got != (audit.Calls{}) || findings != "" {
		t.Errorf("before any call: %+v: %s", got, findings)
	}
	p.ask("one")
	p.ask("two")
	p.ask("one") // the ledger has the reply
	if got, findings := p.counts(); got != (audit.Calls{Keys: 2, Requests: 2}) || findings != "" {
		t.Errorf("%+v: %s", got, findings)
	}
}

func TestACallThatWasPaidTwiceIsFound(t *testing.T) {
	t.Parallel()
	p := pays(t)
	p.ask("one")
	p.ask("two")
	p.send("two")
	got, findings := p.counts()
	if got != (audit.Calls{Keys: 2, Requests: 3, PaidTwice: 1, Repaid: 1}) ||
		!strings.Contains(findings, "two/0 is done: 2 requests") || strings.Contains(findings, "one/0") {
		t.Errorf("%+v: %s", got, findings)
	}
}

func TestARequestThatTheLedgerDoesNotKnowIsFound(t *testing.T) {
	t.Parallel()
	p := pays(t)
	p.ask("one")
	p.send("another")
	got, findings := p.counts()
	if got != (audit.Calls{Keys: 1, Requests: 2, PaidTwice: 1}) ||
		findings != "the ledger does not know a request" {
		t.Errorf("%+v: %s", got, findings)
	}
}

// A call in flight at a crash may be paid again; the ledger shows it.
func TestACallThatWasInFlightAtACrashMayBeSentAgain(t *testing.T) {
	t.Parallel()
	p := pays(t)
	p.send("one")
	p.ask("one")
	_, err := p.Exec(t.Context(), "update cairn.llm_calls set attempts = 2, unknown = 1")
	testkit.Must(t, err)
	got, findings := p.counts()
	if got != (audit.Calls{Keys: 1, Requests: 2, InFlight: 1, Repaid: 1}) || findings != "" {
		t.Errorf("%+v: %s", got, findings)
	}
}

func TestASumOfADayThatDiffersFromTheLedgerIsFound(t *testing.T) {
	t.Parallel()
	p := pays(t)
	p.ask("one")
	_, err := p.Exec(t.Context(), "update cairn.call_days set tokens = tokens + 3")
	testkit.Must(t, err)
	got, findings := p.counts()
	if got != (audit.Calls{Keys: 1, Requests: 1, Miscounted: 1}) || !strings.Contains(findings, "by the ledger") {
		t.Errorf("%+v: %s", got, findings)
	}
}

// temporal returns the workflow lists of a test.
type temporal struct {
	client.Client
	pages  [][]string // ids, of one listing after another
	listed []string   // the queries
	err    error
}

func (c *temporal) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	c.listed = append(c.listed, r.GetQuery()+string(r.GetNextPageToken()))
	if c.err != nil {
		return nil, c.err
	}
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	if len(c.pages) == 0 {
		return out, nil
	}
	for _, id := range c.pages[0] {
		if id == "more" {
			out.NextPageToken = []byte("+")
			continue
		}
		out.Executions = append(out.Executions, &workflow.WorkflowExecutionInfo{TaskQueue: id})
	}
	c.pages = c.pages[1:]
	return out, nil
}

func TestAllPagesOfWorkflowsAreRead(t *testing.T) {
	t.Parallel()
	c := &temporal{pages: [][]string{{"a", "b", "more"}, {"c"}, {"d"}}}
	got, err := audit.Workflows(t.Context(), c, "n", "q")
	testkit.Must(t, err)
	if len(got) != 3 || got[2].GetTaskQueue() != "c" || strings.Join(c.listed, " ") != "q q+" {
		t.Errorf("%v, listed %q", got, c.listed)
	}
	c.err = errors.New("away")
	if _, err := audit.Workflows(t.Context(), c, "n", ""); !errors.Is(err, c.err) {
		t.Errorf("%v", err)
	}
}

func TestTheWaitForWorkflowsEndsWhenNoneIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &temporal{pages: [][]string{{"a", "b"}, {"b"}}}
		audit.AwaitClosed(t.Context(), c, "n", 1)
		if len(c.listed) != 3 {
			t.Errorf("listed %d times", len(c.listed))
		}
	})
}

// The wait is bounded; the audit reports workflows that stay open.
func TestTheWaitForWorkflowsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, began := &temporal{err: errors.New("away")}, time.Now()
		audit.AwaitClosed(t.Context(), c, "n", 1)
		if took := time.Since(began); took != 20*time.Second || len(c.listed) < 100 {
			t.Errorf("%d looks in %s", len(c.listed), took)
		}
	})
}
