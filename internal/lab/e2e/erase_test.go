package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/temporalproto"

	"cairn/internal/adapter/objectstore"
	"cairn/internal/domain/access"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// full fills the test's workspace: a distillation, an upload, answered turns that save memories,
// and a turn that hangs in the model. The first turn is in the conversation "talk", the hanging
// one in "open".
func full(b *apptest.Bundle) {
	b.T.Helper()
	b.ScriptR1()
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "linger", Barrier: "hang", Reply: "never"})
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), Calls: []llm.ToolCall{
		{ID: "a", Name: "memory_save", Arguments: `{"content":"Ada keeps bees.","store":"profile"}`},
		{ID: "b", Name: "skill_save", Arguments: `{"name":"bee-keeping","description":"Keeps bees","content":"## ` +
			`When to Use\nFor bees.\n\n## Procedure\n1. Wear a veil\n"}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted, Ada."})
	b.Distill(apptest.C1())
	_, err := b.Library.Import(b.T.Context(), b.Workspace.ID,
		zipOf(b.T.(*testing.T), "tea/SKILL.md",
			"---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Boil water\n", "tea/assets/cup.png",
			"png"), "import", &approval.Override{})
	testkit.Must(b.T, err)
	b.Say("talk", 1, "I keep bees, remember how.")
	b.Say("talk", 2, "Thank you.")
}

// hang creates a conversation with an open turn.
func hang(b *apptest.Bundle) {
	b.T.Helper()
	ctx, cancel := context.WithCancel(b.T.Context())
	said := make(chan bool)
	go func() {
		_, _ = b.App.Messages.SendMessage(ctx, b.Message("open", "m1", "linger"))
		said <- true
	}()
	testkit.Must(b.T, b.Model.AwaitBarrier(b.T.Context(), "hang", 1))
	cancel()
	<-said
}

// rows counts the rows of a workspace in every table of the catalogue.
func rows(b *apptest.Bundle, ws access.Workspace) map[string]int64 {
	b.T.Helper()
	found, _ := b.Admin().Query(b.T.Context(), `select c.relname::text from pg_class c join pg_attribute a on `+
		`a.attrelid = c.oid and a.attname = 'workspace_id'
where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	testkit.Must(b.T, err)
	out := map[string]int64{}
	for _, table := range tables {
		var n int64
		testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(),
			"select count(*) from cairn."+table+" where workspace_id = $1", ws.ID).Scan(&n))
		out[table] = n
	}
	var n int64
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), "select count(*) from cairn.workspaces where id = $1", ws.ID).
		Scan(&n))
	out["workspaces"] = n
	return out
}

// erased accepts an erase and waits for its end.
func erased(b *apptest.Bundle, target erasure.Target) erasure.Erasure {
	b.T.Helper()
	e, err := b.Erase.Accept(b.T.Context(), target)
	testkit.Must(b.T, err)
	testkit.Must(b.T, b.Driver.Erase(b.T.Context(), e.Start()))
	return untilErased(b, e.ID)
}

func untilErased(b *apptest.Bundle, id int64) (e erasure.Erasure) {
	b.T.Helper()
	testkit.Eventually(b.T, "the erase has ended", func() bool {
		var err error
		e, err = b.Erase.Report(b.T.Context(), 0, id)
		testkit.Must(b.T, err)
		return e.Ended
	})
	return e
}

// nothingLeft checks that no data of a workspace remains anywhere.
func nothingLeft(b *apptest.Bundle, e erasure.Erasure) {
	b.T.Helper()
	for table, n := range rows(b, b.Workspace) {
		if n != 0 || e.Remaining[table] != 0 {
			b.T.Errorf("%d rows are left in %s; the erasure reports %d", n, table, e.Remaining[table])
		}
	}
	place := fmt.Sprintf("%s/%d", b.Packages, b.Workspace.ID)
	if _, err := os.Stat(place); !os.IsNotExist(err) {
		found, _ := filepath.Glob(place + "/*/*/*")
		b.T.Errorf("something is left in %s: %v, %v", place, found, err)
	}
	testkit.Eventually(b.T, "no workflow of it is open", func() bool {
		open, err := b.Driver.Open(b.T.Context(), b.Workspace.Key, nil)
		testkit.Must(b.T, err)
		return len(open) == 0
	})
	if e.ObjectsLeft != 0 || e.WorkflowsLeft != 0 {
		b.T.Errorf("the erasure reports %d objects and %d workflows left", e.ObjectsLeft, e.WorkflowsLeft)
	}
}

func TestEraseLeavesNothingOfAWorkspaceAnywhere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	other := mustWorkspace(t, b, "other")
	full(b)
	hang(b)
	if _, err := b.Library.Import(t.Context(), other.ID,
		zipOf(t, "tea/SKILL.md", "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Boil water\n"),
		"import", &approval.Override{}); err != nil {
		t.Fatal(err)
	}
	had, others, objects := rows(b, b.Workspace), rows(b, other), len(tree(t, b.Packages))
	for _, table := range []string{"messages", "turns", "runs", "llm_calls", "agent_steps", "agent_calls", "memories",
		"memory_revisions", "skills", "skill_versions", "packages", "search_docs", "embeddings", "lex_docs",
		"tool_op_log", "distill_tasks", "frozen_sessions", "outbox"} {
		if had[table] == 0 {
			t.Errorf("%s is empty before the erase", table)
		}
	}

	e := erased(b, erasure.Target{Workspace: b.Workspace.ID})
	b.Model.Release("hang")
	nothingLeft(b, e)
	for table, n := range had {
		if table != "outbox" && table != "llm_calls" && e.Deleted[table] != n { // the open turn's are on the move
			t.Errorf("%s: %d rows deleted of %d", table, e.Deleted[table], n)
		}
	}
	left := len(tree(t, b.Packages))
	if e.Objects != objects-left || left != 2 || e.Workflows < 2 {
		t.Errorf("%d objects and %d workflows went; of %d objects %d are left, want the other workspace's two",
			e.Objects, e.Workflows, objects, left)
	}
	if now := rows(b, other); !maps.Equal(now, others) {
		t.Errorf("the other workspace had %v, has %v", others, now)
	}
	b.Record(contract.EraseID(b.Workspace.Key, 0), "Erase/workspace")
	historyHasNoText(b, contract.EraseID(b.Workspace.Key, 0))

	if again := mustWorkspace(t, b, "test"); again.ID == b.Workspace.ID {
		t.Error("the name stands for the erased workspace still")
	} else {
		b.Workspace = again
	}
	if answer := b.Say("talk", 1, "Hello again."); answer.Turn != 1 {
		t.Errorf("answered %+v", answer)
	}
}

// historyHasNoText checks that the history of a workflow contains no text of the conversation.
func historyHasNoText(b *apptest.Bundle, id string) {
	b.T.Helper()
	events := b.Temporal.GetWorkflowHistory(b.T.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		testkit.Must(b.T, err)
		raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(event)
		testkit.Must(b.T, err)
		for _, payload := range append(event.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads(),
			event.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()...) {
			raw = append(raw, payload.Data...)
		}
		for _, word := range []string{"bees", "keeping", "Noted", "talk", "Checkout"} {
			if strings.Contains(string(raw), word) {
				b.T.Errorf("event %d of %s holds %q: %s", event.EventId, id, word, raw)
			}
		}
	}
}

func TestEraseGoesOnWhereAWorkerDied(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	full(b)
	b.Stop()
	had, objects := rows(b, b.Workspace), len(tree(t, b.Packages))
	conn, err := pgx.Connect(t.Context(), b.AdminURL)
	testkit.Must(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	testkit.Must(t, err)
	// rows that refer to runs are deleted, then the erasure waits
	_, err = tx.Exec(t.Context(), "lock table cairn.runs in share mode")
	testkit.Must(t, err)

	worker := b.StartProcess()
	e, err := b.Erase.Accept(t.Context(), erasure.Target{Workspace: b.Workspace.ID})
	testkit.Must(t, err)
	testkit.Must(t, b.Driver.Erase(t.Context(), e.Start()))
	testkit.Eventually(t, "some rows are deleted and the next wait", func() bool {
		now, err := b.Erase.Report(t.Context(), 0, e.ID)
		testkit.Must(t, err)
		return now.Deleted["turns"] > 0 && count(b,
			"select count(*) from pg_locks where not granted and relation = 'cairn.runs'::regclass") > 0
	})
	worker.Kill()
	testkit.Must(t, tx.Rollback(t.Context()))
	b.StartProcess()

	e = untilErased(b, e.ID)
	nothingLeft(b, e)
	if !maps.Equal(e.Deleted, positive(had)) || e.Objects != objects {
		t.Errorf("deleted %v and %d objects; there were %v and %d", e.Deleted, e.Objects, positive(had), objects)
	}
}

func positive(in map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for table, n := range in {
		if n > 0 {
			out[table] = n
		}
	}
	return out
}

// The relay starts an accepted erasure whose workflow was never started.
func TestTheRelayDrivesAnErase(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	full(b)
	e, err := b.Erase.Accept(t.Context(), erasure.Target{Workspace: b.Workspace.ID})
	testkit.Must(t, err)
	testkit.Must(t, b.Relay.Tidy(t.Context()))
	nothingLeft(b, untilErased(b, e.ID))
}

// slowBlobs blocks every upload until it is released.
type slowBlobs struct {
	objectstore.Store
	came, leave chan bool
}

func (s slowBlobs) Put(ctx context.Context, key string, data []byte) error {
	select {
	case s.came <- true:
	default:
	}
	<-s.leave
	return s.Store.Put(ctx, key, data)
}

// If a workspace is erased during an upload, the uploader removes the file.
func TestAnUploadThatAnEraseOvertakesLeavesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	slow := slowBlobs{b.Blobs, make(chan bool, 1), make(chan bool)}
	b.Library.Blobs = slow
	b.Start()
	imported := make(chan error, 1)
	archive := zipOf(t, "tea/SKILL.md", "---\nname: tea\ndescription: Makes tea\n---\n\n## Procedure\n1. Boil water\n")
	go func() {
		_, err := b.Library.Import(t.Context(), b.Workspace.ID, archive, "import", &approval.Override{})
		imported <- err
	}()
	<-slow.came
	e, err := b.Erase.Accept(t.Context(), erasure.Target{Workspace: b.Workspace.ID})
	testkit.Must(t, err)
	testkit.Must(t, b.Driver.Erase(t.Context(), e.Start()))
	e = untilErased(b, e.ID)
	close(slow.leave)
	if err := <-imported; fault.CodeOf(err) != fault.Erasing && fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the import ended with %v", err)
	}
	nothingLeft(b, e)
}
