package erase_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/outbox"
	"cairn/internal/service/erase"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// textTables are tables that contain text of Ben before the erasure.
var textTables = []string{"agent_calls", "agent_steps", "attachments", "compactions", "conversations",
	"frozen_sessions", "llm_calls", "memories", "memory_revisions", "messages", "offload_blobs", "offload_uses",
	"pending_memories", "runs", "search_docs", "skill_files", "skill_versions", "skills", "tool_op_log", "turns"}

func TestEraseOfASubjectLeavesNothingOfIt(t *testing.T) {
	t.Parallel()
	a, b := twoTowns(t)
	had := a.places(a.ws, bens)
	for _, table := range textTables {
		if !slices.ContainsFunc(had, func(s string) bool { return strings.HasPrefix(s, table+" ") }) {
			t.Errorf("%s has no text of him before, so its erasure shows nothing: %v", table, had)
		}
	}
	neighbor, hers, found := b.rowsOf(b.ws), a.hers(), a.found(a.ws, anns, "ann")
	if len(a.found(a.ws, bens, "ben ito")) < 8 {
		t.Fatalf("before, search finds %v", a.found(a.ws, bens, "ben ito"))
	}
	id := a.accept(a.ben()).ID
	if !a.steps(id) {
		t.Fatalf("it has not ended: %+v", a.report(id))
	}
	if left := a.places(a.ws, bens); len(left) > 0 {
		t.Errorf("his word is in %v", left)
	}
	// the names in a mixed summary and in a memory of Ann, which need a review
	if left := a.places(a.ws, "ben.?ito"); !slices.Equal(left, []string{"memories 2", "memory_revisions 2"}) {
		t.Errorf("his name is in %v", left)
	}
	if got := a.found(a.ws, bens, "ben ito"); len(got) > 0 {
		t.Errorf("search finds %v", got)
	}
	if got := a.hers(); got != hers {
		t.Errorf("she had\n%s\nand has\n%s", hers, got)
	}
	if got := a.found(a.ws, anns, "ann"); !slices.Equal(without(got, "chunk"), without(found, "chunk")) {
		t.Errorf("search finds of her %v, found %v before", got, found)
	}
	if got := b.rowsOf(b.ws); got != neighbor {
		t.Error("the neighbor has changed")
	}
	if docs, stats := a.Number("select count(*) from search_docs where status = 'active' and workspace_id = $1",
		a.ws.ID), a.Number("select docs from lex_stats where workspace_id = $1", a.ws.ID); docs != stats {
		t.Errorf("%d documents, counted as %d", docs, stats)
	}
	if n := a.Number(`select count(*) from lex_terms t where workspace_id = $1 and df <> (select count(*)
			from lex_docs l where l.workspace_id = $1 and l.keys @> array[t.workspace_id << 32 | t.term])`,
		a.ws.ID); n != 0 {
		t.Errorf("the counts of %d terms are wrong", n)
	}
	_, err := a.Accept(t.Context(), a.ben())
	testkit.Must(t, err) // a client of mem0 still names him
	wantsHint(t, "a subject that is unknown", a.plan(erasure.Target{Workspace: a.ws.ID, Subject: "Cleo"}),
		fault.NotFound, "cairn targets")
}

// without leaves out results of a kind, and sorts the others: the order depends on word frequencies.
func without(found []string, kind string) []string {
	found = slices.Sorted(slices.Values(found))
	return slices.DeleteFunc(found, func(s string) bool { return strings.HasPrefix(s, kind+" ") })
}

func wantsHint(t *testing.T, what string, err error, code fault.Code, hint string) {
	t.Helper()
	wants(t, what, err, code)
	if !strings.Contains(fault.From(err).Hint, hint) {
		t.Errorf("%s: the hint is %q", what, fault.From(err).Hint)
	}
}

func (p *people) plan(target erasure.Target) error {
	_, err := p.Plan(p.t.Context(), target)
	return err
}

// hers returns what belongs to Ann.
func (p *people) hers() (out string) {
	p.t.Helper()
	testkit.Must(p.t, p.Admin.QueryRow(p.t.Context(), `select string_agg(line, E'\n' order by line) from (
		select type || ' ' || content || ' ' || status || ' ' || version as line from memories
			where workspace_id = $1 and target = 'Ann'
		union all select content || coalesce(' at ' || turn, '') from messages where workspace_id = $1 and name = 'Ann'
		union all select name || ' ' || status from skills where workspace_id = $1 and name ~ $2
		union all select target || ' ' || description from memory_targets where workspace_id = $1 and target_key = 'Ann'
		union all select content from memories where workspace_id = $1 and type = 'profile' and content ~ $2) x`,
		p.ws.ID, anns).Scan(&out))
	return out
}

// A plan is what the erasure does, and changes nothing.
func TestPlanOfASubjectIsWhatIsErased(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	before := p.rowsOf(p.ws)
	plan, err := p.Plan(t.Context(), p.ben())
	testkit.Must(t, err)
	if p.rowsOf(p.ws) != before || p.Number("select count(*) from erasures") != 0 {
		t.Error("the plan has changed something")
	}
	p.mixed(plan.NeedsReview)
	var derived []string
	for _, d := range plan.Derived {
		derived = append(derived, d.Kind)
	}
	// the summary, two core memories, a profile, a note, the skill
	if !slices.Equal(derived, []string{"memory", "memory", "memory", "memory", "memory", "skill"}) {
		t.Errorf("derives only from him: %+v", plan.Derived)
	}

	id := p.accept(p.ben()).ID
	if !p.steps(id) {
		t.Fatalf("it has not ended: %+v", p.report(id))
	}
	got := p.report(id)
	p.mixed(got.NeedsReview)
	for table, n := range plan.Rows {
		// Results and requests are found while it runs; versions of the soul only lose their source.
		if table != "tool_op_log" && table != "llm_calls" && table != "soul_versions" && got.Deleted[table] != n {
			t.Errorf("%s: %d planned, %d erased", table, n, got.Deleted[table])
		}
		if got.Remaining[table] != 0 {
			t.Errorf("%s: %d are left", table, got.Remaining[table])
		}
	}
	// The skill has a vector in one of the two spaces.
	if d := got.Deleted; d["embeddings"] != 2*d["search_docs"]-1 || d["lex_terms"] == 0 || d["memory_leases"] != 1 ||
		d["memory_targets"] != 2 {
		t.Errorf("deleted %v", d)
	}
	if n := p.Number("select count(*) from erasures e where marks is null and e::text !~* 'ben'"); n != 1 {
		t.Error("the report has his name")
	}
	if got.Subject == "" || !strings.HasPrefix(got.WorkflowID(), "erase/"+p.ws.Key+"/subject/") || got.Whole() {
		t.Errorf("the report is %+v", got)
	}
}

// mixed checks the list of what needs a review.
func (p *people) mixed(items []erasure.Item) {
	p.t.Helper()
	var got []string
	for _, item := range items {
		got = append(got, item.Kind+" "+item.Ref)
	}
	var summary string
	testkit.Must(p.t, p.Admin.QueryRow(p.t.Context(), `select external_id from memories where workspace_id = $1
		and content = 'Two people met at the lake.'`, p.ws.ID).Scan(&summary))
	want := []string{"memory " + p.notes["mem0"], "memory " + summary, "memory 000000000000abc4", "skill keep-pets",
		"soul 4", "turns table", "turns room", "turns office"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("to review are %v, want %v", got, want)
	}
}

// The place of a message stays, so that the numbers of the others stay.
func TestASharedConversationKeepsItsSequence(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	table := p.conversation(p.ws, "table")
	_, err := p.Admin.Exec(t.Context(), `update messages set details = '{"reasoning": "of Ben"}'
		where conversation_id = $1`, table)
	testkit.Must(t, err)
	if !p.steps(p.accept(p.ben()).ID) {
		t.Fatal("it has not ended")
	}
	var left int
	testkit.Must(t, p.Admin.QueryRow(t.Context(), `select count(*) from messages where conversation_id = $1
		and content = '[erased]' and details <> '{}'`, table).Scan(&left))
	if left != 0 {
		t.Errorf("%d erased messages have details", left)
	}
	var got string
	testkit.Must(t, p.Admin.QueryRow(t.Context(), `select string_agg(seq || ' ' || role || ' ' || name || ': '
		|| content, E'\n' order by seq) from messages where conversation_id = $1`, table).Scan(&got))
	if want := "0 user Ann: My " + anns + " blooms.\n1 user : [erased]\n2 assistant : How nice for both of you."; got !=
		want {
		t.Errorf("the conversation is\n%s", got)
	}
	if n := p.Number("select count(*) from search_docs where kind = 'turn' and owner_id = $1", table); n != 2 {
		t.Errorf("%d of its messages are found", n)
	}
}

// Every step may be repeated, and may be the last of a worker that dies. An erasure that is accepted
// again is the same.
func TestEraseOfASubjectContinuesAtAnyStep(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	id := p.accept(p.ben()).ID
	if again := p.accept(p.ben()); again.ID != id {
		t.Errorf("it is erasure %d, not %d", again.ID, id)
	}
	ctx, s := t.Context(), p.Erasures()
	for range 2 {
		testkit.Must(t, p.Fence(ctx, contract.EraseRef{Erasure: id}))
		testkit.Must(t, p.Stop(ctx, contract.EraseRef{Erasure: id}))
		n, err := s.EraseSubject(ctx, id, 1) // and then the worker dies
		testkit.Must(t, err)
		if n != 2 && n != 1 {
			t.Errorf("erased %d", n)
		}
		_, err = s.EraseRows(ctx, id, "memory_refs", 1)
		testkit.Must(t, err)
		if out, err := p.End(ctx, contract.EraseRef{Erasure: id}); out.Ended || err != nil {
			t.Errorf("ended %t: %v", out.Ended, err)
		}
	}
	for _, step := range []func(context.Context, contract.EraseRef) error{p.Derived, p.CountObjects, p.Service.Rows,
		p.Objects} {
		for range 2 {
			testkit.Must(t, step(ctx, contract.EraseRef{Erasure: id}))
		}
	}
	if out, err := p.End(ctx, contract.EraseRef{Erasure: id}); !out.Ended || err != nil {
		t.Fatalf("ended %t: %v, %+v", out.Ended, err, p.report(id))
	}
	first := p.report(id)
	p.steps(id)
	if again := p.report(id); fmt.Sprint(again.Deleted) != fmt.Sprint(first.Deleted) {
		t.Errorf("deleted %v, and then %v", first.Deleted, again.Deleted)
	}
	if d := first.Deleted; d["messages"] != 3 || d["memories"] != 11 {
		t.Errorf("counted %v", d)
	}
	if left := p.places(p.ws, bens); len(left) > 0 {
		t.Errorf("his word is in %v", left)
	}
}

// What is written after the acceptance belongs to the next erasure.
func TestAMemoryWrittenDuringAnErasureBelongsToTheNext(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	id := p.accept(p.ben()).ID
	p.remember("late", p.actor(memory.Personal, "Ben Ito", ""), "Has a new "+bens+".", nil)
	if !p.steps(id) {
		t.Fatalf("it has not ended: %+v", p.report(id))
	}
	late := []string{"memories 1", "memory_revisions 1", "search_docs 1"}
	if left := p.places(p.ws, bens); !slices.Equal(left, late) {
		t.Errorf("his word is in %v", left)
	}
	next := p.accept(p.ben()).ID
	if next == id || !p.steps(next) {
		t.Errorf("the next erasure is %d", next)
	}
	if left := p.places(p.ws, bens); len(left) > 0 {
		t.Errorf("his word is in %v", left)
	}
}

// A run that has read the subject's messages keeps its requests until it has ended.
func TestEraseOfASubjectWaitsForOpenRuns(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	p.Exec("update runs set status = 'running', outcome = '' where kind = 'turn' and conversation_id = $1",
		p.conversation(p.ws, "table"))
	id := p.accept(p.ben()).ID
	if p.steps(id) {
		t.Error("it has ended with an open run")
	}
	if got := p.report(id); got.Remaining["runs"] != 1 || got.Remaining["memories"] != 0 {
		t.Errorf("remaining %v", got.Remaining)
	}
	p.Exec("update runs set status = 'ended', outcome = 'completed' where status = 'running'")
	if !p.steps(id) {
		t.Errorf("it has not ended: %+v", p.report(id))
	}
	if left := p.places(p.ws, bens); len(left) > 0 {
		t.Errorf("his word is in %v", left)
	}
}

// The workflows of his own conversations are stopped, those of the workspace are not.
func TestStopEndsOnlyTheWorkflowsOfASubject(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	own := p.conversation(p.ws, p.sessionOf("Ben Ito"))
	e.workflows.open = []erase.Execution{{Workflow: "conversation/x", Run: "r1"}}
	id := p.accept(p.ben()).ID
	testkit.Must(t, p.Stop(t.Context(), contract.EraseRef{Erasure: id}))
	if want := fmt.Sprintf("%s [%d]", p.ws.Key, own); len(e.workflows.asked) != 2 || e.workflows.asked[0] != want {
		t.Errorf("asked for %v, want %s", e.workflows.asked, want)
	}
	p.steps(id)
	if got := p.report(id); !got.Ended || got.Workflows != 1 || len(e.emptied) != 0 || got.Objects != 0 {
		t.Errorf("the report is %+v; emptied %v", got, e.emptied)
	}

	// Without a conversation of his own, no workflow is looked at.
	e.workflows.asked = nil
	p.remember("late", p.actor(memory.Personal, "Ben Ito", ""), "Is back.", nil)
	if id := p.accept(p.ben()).ID; !p.steps(id) || len(e.workflows.asked) != 0 {
		t.Errorf("asked for %v: %+v", e.workflows.asked, p.report(id))
	}
}

func TestAcceptRefusesASubjectThatIsNotThere(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for what, c := range map[string]struct {
		target erasure.Target
		code   fault.Code
	}{
		"an unknown name":      {erasure.Target{Workspace: e.A.ID, Subject: "Cleo"}, fault.NotFound},
		"no name":              {erasure.Target{Workspace: e.A.ID, Subject: " "}, fault.InvalidArgument},
		"a long name":          {erasure.Target{Workspace: e.A.ID, Subject: strings.Repeat("x", 101)}, fault.TooLarge},
		"an unknown workspace": {erasure.Target{Workspace: 999_999, Subject: "Cleo"}, fault.NotFound},
	} {
		_, err := e.Accept(t.Context(), c.target)
		wants(t, what, err, c.code)
	}
	e.accept(e.whole())
	_, err := e.Accept(t.Context(), erasure.Target{Workspace: e.A.ID, Subject: "Cleo"})
	wants(t, "in a workspace that is being erased", err, fault.Erasing)
}

// A writer that was there before the acceptance is waited for, and its memory is erased.
func TestAcceptOfASubjectWaitsForWriters(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	entered, leave, left := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		left <- e.InWorkspace(t.Context(), e.A.ID, func(ctx context.Context, tx store.Tx) error {
			close(entered)
			<-leave
			return tx.Outbox().Enqueue(ctx, outbox.DriveRun, "1", 0)
		})
	}()
	<-entered
	accepted := make(chan int64, 1)
	go func() { accepted <- p.accept(p.ben()).ID }()
	testkit.Eventually(t, "the acceptance waits", func() bool {
		return e.Number(`select count(*) from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database())`) == 1
	})
	close(leave)
	testkit.Must(t, <-left)
	if id := <-accepted; !p.steps(id) {
		t.Errorf("it has not ended: %+v", p.report(id))
	}
}

// A deletion is of memories only. They are not found at once, and after the undo period nothing of
// them is left; what was said, and what else was drawn from it, stays and is found.
func TestADeletionLeavesWhatWasSaid(t *testing.T) {
	t.Parallel()
	e := setup(t)
	p := settle(e, e.A)
	ids := p.texts("select external_id from memories where workspace_id = $1 and target = 'Ben Ito' " +
		"and status = 'active'")
	_, err := p.long.DeleteWhere(t.Context(), p.User(), memory.Filter{Targets: []string{"Ben Ito"},
		Types: []memory.Type{memory.Personal, memory.Procedural}})
	testkit.Must(t, err)
	kinds := func() []string {
		var out []string
		for _, found := range p.found(p.ws, bens, "ben ito") {
			kind, id, _ := strings.Cut(found, " ")
			if slices.Contains(ids, id) {
				t.Errorf("the deleted memory %s is found", id)
			}
			out = append(out, kind)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	stays := []string{"chunk", "memory", "turn"} // the memory is the summary of the session
	if got := kinds(); !slices.Equal(got, stays) {
		t.Errorf("found are %v", got)
	}
	p.Exec("update memories set updated_at = now() - interval '8 days' where status = 'removed'")
	testkit.Must(t, p.Outbox().EraseDeleted(t.Context(), p.ws.ID, 1000))
	if got := kinds(); !slices.Equal(got, stays) {
		t.Errorf("found after the undo period are %v", got)
	}
	if left := p.Number("select count(*) from memories where external_id = any($1)", ids); left != 0 {
		t.Errorf("%d memories are left", left)
	}
	for _, query := range []string{
		"search_docs d where kind = 'memory' and not exists (select from memories m where m.id = d.owner_id)",
		"embeddings e where not exists (select from search_docs d where d.doc = e.doc)",
		"lex_terms t where df <> (select count(*) from lex_docs l " +
			"where l.keys @> array[t.workspace_id << 32 | t.term])"} {
		if n := p.Number("select count(*) from " + query); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
}

// texts returns the texts that a query of the superuser returns.
func (p *people) texts(query string) (out []string) {
	p.t.Helper()
	testkit.Must(p.t, p.Admin.QueryRow(p.t.Context(), "select array("+query+")", p.ws.ID).Scan(&out))
	return out
}

// A vote on an answer is erased with what the answer was about.
func TestEraseOfASubjectRemovesVotesOnItsAnswers(t *testing.T) {
	t.Parallel()
	a, b := twoTowns(t)
	for _, ws := range []int64{a.ws.ID, b.ws.ID} {
		a.Exec(`insert into votes (workspace_id, voter, answer, op_id, source, conversation_id)
			select workspace_id, 'cli/ada', 'turn/' || id, 'op', 'praise', id
			from conversations where workspace_id = $1`, ws)
	}
	votes := func(ws int64) int { return a.Number("select count(*) from votes where workspace_id = $1", ws) }
	before := votes(a.ws.ID)
	if !a.steps(a.accept(a.ben()).ID) {
		t.Fatal("it has not ended")
	}
	want := a.Number(
		`select count(*) from conversations c where workspace_id = $1 and not exists (select from messages m
		where m.workspace_id = $1 and m.conversation_id = c.id and m.content = '[erased]')`,
		a.ws.ID,
	)
	if left := votes(a.ws.ID); left != want || left == 0 || left == before {
		t.Errorf("%d votes of %d, want those on %d conversations without him", left, before, want)
	}
	if n := votes(b.ws.ID); n != before {
		t.Errorf("the neighbor has %d votes, had %d", n, before)
	}
}
