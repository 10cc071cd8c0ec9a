package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app/config"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// silentServer is a server that never answers.
func silentServer(t *testing.T) *httptest.Server {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s
}

// openHooks opens an idle Cairn with accounts of webhooks, by their URLs, and serves the accounts.
func openHooks(t *testing.T, urls map[string]string, change ...func(*config.Config)) *chats {
	t.Helper()
	accounts := "accounts:\n"
	for name, url := range urls {
		accounts += fmt.Sprintf("  %s: {platform: webhook, secret: %q, url: %q, access: open}\n", name, secret, url)
	}
	file := filepath.Join(t.TempDir(), "channels.yaml")
	testkit.Must(t, os.WriteFile(file, []byte(accounts), 0o600))
	c := &chats{Bundle: apptest.OpenIdle(t, append(change, func(o *config.Config) { o.Channels = file })...)}
	var err error
	c.accounts, err = c.App.OpenAccounts(t.Context())
	testkit.Must(t, err)
	c.serve()
	t.Cleanup(func() { c.stop() })
	return c
}

// owesDeliveries stores a delivery for each of n chats of an account.
func (c *chats) owesDeliveries(account string, n int) {
	c.T.Helper()
	exec(c.Bundle, `with route as (
  insert into cairn.channel_routes (workspace_id, account, chat, conversation)
  select $1, $2, 'chat ' || i, $2 || '/' || i from generate_series(1, $3::int) i returning id, chat
), delivery as (
  insert into cairn.deliveries (workspace_id, route_id, source, body)
  select $1, id, 'event/' || id, jsonb_build_object('text', 'hello ' || chat) from route
)
insert into cairn.outbox (workspace_id, kind, key) select $1, 'deliver', id::text from route`,
		c.Workspace.ID, account, n)
}

// owesVectors stores n documents without vectors.
func owesVectors(b *apptest.Bundle, n int) {
	b.T.Helper()
	exec(b, `with doc as (
  insert into cairn.search_docs (workspace_id, kind, owner_id, status, text)
  select $1, 'skill', 1000000 + i, 'active', 'text ' || i from generate_series(1, $2::int) i returning doc
)
insert into cairn.outbox (workspace_id, kind, key, due_at)
select $1, 'embed', doc::text, now() - interval '1 minute' from doc`, b.Workspace.ID, n)
}

// within waits for a promised deadline, which is tested at five times its value.
func within(t *testing.T, promised time.Duration, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > 5*promised {
			t.Fatalf("after %s not yet: %s", 5*promised, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("after %s: %s", time.Since(began).Round(10*time.Millisecond), what)
}

// Neither much work of another kind nor endpoints that hang delay a turn whose start was lost, nor what is sent to
// other endpoints.
func TestALostTurnStartsWhileOtherWorkWaits(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	silent := silentServer(t)
	works := &program{seen: map[string]string{}}
	works.Server = httptest.NewServer(http.HandlerFunc(works.receive))
	t.Cleanup(works.Close)
	c := openHooks(t, map[string]string{"silent": silent.URL, "works": works.URL}, func(o *config.Config) {
		o.EmbeddingModel, o.EmbeddingBaseURL, o.EmbeddingDimensions = "silent", silent.URL, 64
	})
	c.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	const many = 10_000
	owesVectors(c.Bundle, many)
	c.owesDeliveries("silent", 100)
	c.Start()
	testkit.Eventually(t, "the embedder and the webhook hang", func() bool {
		return count(c.Bundle, "select count(*) from cairn.outbox where kind = 'embed' and attempts > 0") > 0 &&
			count(c.Bundle, "select count(*) from cairn.delivery_parts where attempts > 0") > 0
	})
	_, err := c.App.Inbox.Accept(t.Context(), c.Message("lost", "m1", "Hello?"))
	testkit.Must(t, err)
	t.Cleanup(func() { // what the relay did with the turn
		if t.Failed() {
			t.Log(
				adminColumn(
					c.Bundle,
					"select row(now(), o.*)::text from cairn.outbox o where kind not in ('embed', 'deliver')",
				),
			)
			t.Log(adminColumn(c.Bundle, "select row(id, kind, status, created_at, started_at)::text from cairn.runs"))
			t.Log(
				adminColumn(
					c.Bundle,
					"select row(kind, attempts, count(*))::text from cairn.outbox group by kind, attempts",
				),
			)
		}
	})
	within(t, 5*time.Second, "the lost turn runs", func() bool {
		return count(c.Bundle, "select count(*) from cairn.runs where kind = 'turn' and started_at is not null") == 1
	})
	c.owesDeliveries("works", 20)
	within(t, 5*time.Second, "the other program has its messages", func() bool { return len(works.got()) == 20 })
	if n := count(c.Bundle, "select count(*) from cairn.outbox where kind = 'embed'"); n < many {
		t.Errorf("%d embeddings are owed, want %d", n, many)
	}
}

// A relay that is killed while it works leaves its tasks to another one, and each takes effect once.
func TestTheTasksOfAKilledRelayTakeEffectOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const documents, turns, chatsOwed = 300, 20, 20
	works := &program{seen: map[string]string{}}
	works.Server = httptest.NewServer(http.HandlerFunc(works.receive))
	t.Cleanup(works.Close)
	c := openHooks(t, map[string]string{"works": works.URL}, func(o *config.Config) {
		o.EmbeddingModel, o.EmbeddingDimensions = "scripted-embedding", 64
	})
	c.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello.", Delay: 300 * time.Millisecond})
	owesVectors(c.Bundle, documents)
	c.owesDeliveries("works", chatsOwed)
	for i := range turns {
		_, err := c.App.Inbox.Accept(t.Context(), c.Message(fmt.Sprintf("c%d", i), "m1", "Hello?"))
		testkit.Must(t, err)
	}
	progress := func() int {
		return count(c.Bundle, "select count(*) from cairn.embeddings") +
			count(c.Bundle, "select count(*) from cairn.runs where status = 'ended'") + len(works.got())
	}
	for _, at := range []int{10, 120, 250} {
		p := c.StartProcess()
		testkit.Eventually(t, fmt.Sprintf("%d tasks are done", at), func() bool { return progress() >= at })
		p.Kill()
		exec(c.Bundle, "update cairn.outbox set due_at = least(due_at, now() + interval '1 second')")
	}
	c.StartProcess()
	testkit.Eventually(t, "nothing is owed", func() bool {
		return count(c.Bundle, "select count(*) from cairn.outbox where kind in ('turn', 'drive', 'deliver')") == 0 &&
			count(c.Bundle, "select count(*) from cairn.embeddings") >= documents
	})
	for query, want := range map[string]int{
		"select count(*) from cairn.embeddings e join cairn.search_docs d using (workspace_id, doc) " +
			"where d.text like 'text %'": documents,
		"select count(*) from cairn.runs where kind = 'turn' and outcome = 'completed'":       turns,
		"select count(*) from cairn.messages where role = 'assistant' and content = 'Hello.'": turns,
		"select count(*) from cairn.llm_calls where state = 'done'":                           turns,
		"select count(*) from cairn.deliveries where state = 'sent'":                          chatsOwed,
	} {
		if n := count(c.Bundle, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	// what calls in flight at a kill had reserved is settled by their repetition
	if n := count(c.Bundle, `select count(*) from (
  select workspace_id, sum(input_tokens + output_tokens + reserved) as tokens, sum(reserved) as open
  from cairn.llm_calls group by 1
) l full join (select workspace_id, sum(tokens) as tokens from cairn.call_days group by 1) d using (workspace_id)
where l.tokens is distinct from d.tokens or l.open > 0`); n != 0 {
		t.Error("the sum of the day differs from the ledger")
	}
	if got := works.got(); len(got) != chatsOwed {
		t.Errorf("the program has %d messages, want %d", len(got), chatsOwed)
	}
}

// adminColumn reads texts after a test has failed, when its context has ended.
func adminColumn(b *apptest.Bundle, sql string) (out []string) {
	rows, err := b.Admin().Query(context.WithoutCancel(b.T.Context()), sql)
	if err == nil {
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		b.T.Log(err)
	}
	return out
}
