package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/library"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// undoing has a skill with a package, a prompt memory and a long-term memory. Each contains a
// word that occurs nowhere else.
type undoing struct {
	b        *apptest.Bundle
	ref      run.Ref
	skill    string
	core     string
	personal string
	ops      int
}

func keepSome(t *testing.T, days int) *undoing {
	t.Helper()
	b := apptest.Open(t)
	b.ScriptR1()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(_ context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(t.Context(),
			json.RawMessage(fmt.Sprintf(`{"limits":{"undo_days":%d}}`, days)))
		return err
	}))
	k := &undoing{b: b}
	report := b.Distill(apptest.C1())
	k.ref, k.skill = run.Ref{Workspace: b.Workspace.ID, Run: report.Run}, report.Tasks[0].Skill
	exec(b, "update cairn.skill_versions set body = body || ' xylophone'")
	exec(b, "insert into cairn.distill_files (workspace_id, run_id, task_key, kind, name, content) select "+
		"workspace_id, run_id, task_key, 'scripts', 'left.py', 'xylophone' from cairn.distill_tasks where skill_id "+
		"is not null")
	exec(b, "update cairn.distill_tasks set draft = jsonb_build_object('body', 'xylophone') where skill_id is not null")
	saved, err := b.Memory.Save(t.Context(), k.user(), memories.SaveArgs{Content: "Ada plays the zither."})
	testkit.Must(t, err)
	k.core = saved.IDs[0]
	about := k.user()
	about.Subject = agent.MemoryScope{Type: string(memory.Personal), Target: "ada"}
	added, err := b.LongTerm.AddMemories(t.Context(), about, []memories.NewMemory{{Content: "Ada tunes a theremin."}})
	testkit.Must(t, err)
	k.personal = added[0].ID
	b.Say("c", 1, "Hello.") // freezes a prompt that contains both
	return k
}

func (k *undoing) user() agent.Actor {
	k.ops++
	return agent.Actor{Workspace: k.b.Workspace.ID, Origin: agent.OriginUser, Op: fmt.Sprintf("test/%d", k.ops)}
}

func (k *undoing) deleteAll() (out library.DeleteResult) {
	k.b.T.Helper()
	out, err := k.b.Library.Delete(k.b.T.Context(), k.user(), library.DeleteArgs{Name: k.skill})
	testkit.Must(k.b.T, err)
	_, err = k.b.Memory.Remove(k.b.T.Context(), k.user(), memories.RemoveArgs{Match: k.core})
	testkit.Must(k.b.T, err)
	_, err = k.b.LongTerm.DeleteMemories(k.b.T.Context(), k.user(), []memories.DeleteRequest{{ID: k.personal}})
	testkit.Must(k.b.T, err)
	return out
}

// said lists the tables with text of users and models. Only the erasure of conversations clears
// them.
var said = []string{"messages", "llm_calls", "request_parts", "agent_calls", "agent_steps"}

// readable lists the tables that still contain the text.
func (k *undoing) readable() (out []string) {
	k.b.T.Helper()
	rows, err := k.b.Admin().Query(k.b.T.Context(),
		"select relname::text from pg_class where relnamespace = 'cairn'::regnamespace and relkind = 'r' order by 1")
	testkit.Must(k.b.T, err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table string
		testkit.Must(k.b.T, rows.Scan(&table))
		tables = append(tables, table)
	}
	for _, table := range tables {
		if !slices.Contains(said, table) && count(k.b,
			"select count(*) from cairn."+table+" t where t::text ~ 'xylophone|zither|theremin'") > 0 {
			out = append(out, table)
		}
	}
	return out
}

func packages(t *testing.T, folder string) (out []string) {
	t.Helper()
	testkit.Must(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

func TestWhatIsDeletedIsGoneAtOnceWhereNothingIsKept(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	k := keepSome(t, 0)
	b := k.b
	if got := strings.Join(k.readable(), " "); !strings.Contains(got, "skill_versions") ||
		!strings.Contains(got, "memory_revisions") || !strings.Contains(got, "frozen_sessions") ||
		!strings.Contains(got, "distill_files") {
		t.Fatalf("before the delete it is read in %s", got)
	}
	if out := k.deleteAll(); out.UndoUntil != nil {
		t.Errorf("it can be taken back until %v", out.UndoUntil)
	}
	if got := k.readable(); len(got) > 0 {
		t.Errorf("it is still read in %v", got)
	}
	for _, table := range []string{"skills", "skill_versions", "memories", "memory_revisions",
		"embeddings where doc not in (select doc from cairn.search_docs)",
		"lex_docs where doc not in (select doc from cairn.search_docs)"} {
		if n := count(b, "select count(*) from cairn."+table); n != 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	if n := count(b, "select count(*) from cairn.lex_terms t where df <> (select count(*) from cairn.lex_docs l "+
		"where l.keys @> array[t.workspace_id << 32 | t.term])"); n != 0 {
		t.Errorf("%d words are counted wrong", n)
	}
	testkit.Must(t, b.Relay.Tidy(t.Context()))
	if got := packages(t, b.Packages); len(got) > 0 {
		t.Errorf("packages are left: %v", got)
	}
	_, err := b.Library.RestoreNamed(t.Context(), b.Workspace.ID, k.skill)
	if fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "does not keep deleted skills") {
		t.Errorf("taking the skill back: %v", err)
	}
	_, err = b.LongTerm.Restore(t.Context(), k.user(), memories.RestoreArgs{ID: k.personal})
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("taking the memory back: %v", err)
	}
	if _, err := b.App.Distill.Report(t.Context(), k.ref); err != nil {
		t.Errorf("the run that made the skill cannot be shown: %v", err)
	}
	if got := b.Say("c", 2, "Hello again."); got.Reason != "final" {
		t.Errorf("the conversation goes on with %+v", got)
	}
}

func TestWhatIsDeletedCanBeTakenBackForItsDays(t *testing.T) {
	t.Parallel()
	k := keepSome(t, 3)
	b := k.b
	if out := k.deleteAll(); out.UndoUntil == nil ||
		count(b, "select round(extract(epoch from '"+out.UndoUntil.Format(time.RFC3339)+
			"'::timestamptz - now()) / 3600)::int") != 3*24 {
		t.Errorf("it can be taken back until %v", out.UndoUntil)
	}
	age := func(days int) {
		exec(b, "update cairn.skills set deleted_at = deleted_at - make_interval(days => $1)", days)
		exec(b, "update cairn.memories set updated_at = updated_at - make_interval(days => $1)", days)
	}
	age(2)
	testkit.Must(t, b.Relay.Tidy(t.Context()))
	_, err := b.Library.RestoreNamed(t.Context(), b.Workspace.ID, k.skill)
	testkit.Must(t, err)
	_, err = b.LongTerm.Restore(t.Context(), k.user(), memories.RestoreArgs{ID: k.personal})
	testkit.Must(t, err)
	_, err = b.Library.Delete(t.Context(), k.user(), library.DeleteArgs{Name: k.skill})
	testkit.Must(t, err)
	_, err = b.LongTerm.DeleteMemories(t.Context(), k.user(), []memories.DeleteRequest{{ID: k.personal}})
	testkit.Must(t, err)

	age(4)
	_, err = b.Library.RestoreNamed(t.Context(), b.Workspace.ID, k.skill)
	if fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "within the last 3 days") {
		t.Errorf("taking the skill back too late: %v", err)
	}
	_, err = b.LongTerm.Restore(t.Context(), k.user(), memories.RestoreArgs{ID: k.personal})
	if f := fault.From(err); f == nil || f.Code != fault.NotFound || !strings.Contains(f.Hint, "undo_days") {
		t.Errorf("taking the memory back too late: %v", err)
	}
	testkit.Must(t, b.Relay.Tidy(t.Context())) // erases, and
	testkit.Must(t, b.Relay.Tidy(t.Context())) // collects
	if got := k.readable(); len(got) > 0 || len(packages(t, b.Packages)) > 0 {
		t.Errorf("it is still read in %v, packages %v", got, packages(t, b.Packages))
	}
}
