package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// everywhere returns the tables with rows of workspaces, including workspaces.
func (b *bundle) everywhere() []string { return append(b.tenantTables(), "workspaces") }

// rowsOf counts a workspace's rows of each table.
func (b *bundle) rowsOf(ws access.Workspace) map[string]int64 {
	b.t.Helper()
	out := map[string]int64{}
	for _, table := range b.everywhere() {
		column := "workspace_id"
		if table == "workspaces" {
			column = "id"
		}
		out[table] = int64(b.number(fmt.Sprintf("select count(*) from %s where %s = $1", table, column), ws.ID))
	}
	return out
}

// erase runs an erasure to its end without Temporal and without objects.
func (b *bundle) erase(t erasure.Target, between ...func()) erasure.Erasure {
	b.t.Helper()
	ctx, s := b.t.Context(), b.Erasures()
	id, err := s.AcceptErasure(ctx, t)
	testkit.Must(b.t, err)
	for _, f := range between {
		f()
	}
	testkit.Must(b.t, s.FenceErasure(ctx, id))
	testkit.Must(b.t, s.EraseDerived(ctx, id))
	tables, err := s.ErasedTables(ctx)
	testkit.Must(b.t, err)
	for _, table := range tables {
		for n := 1; n > 0; {
			n, err = s.EraseRows(ctx, id, table, 2)
			testkit.Must(b.t, err)
		}
	}
	testkit.Must(b.t, s.EraseConversation(ctx, id))
	gone, err := s.ErasedPackages(ctx, id, [32]byte{}, 1000)
	testkit.Must(b.t, err)
	testkit.Must(b.t, s.ErasePackages(ctx, id, gone))
	none := 0
	testkit.Must(
		b.t,
		s.NoteErasure(ctx, id, erasure.ExternalCounts{Objects: &none, ObjectsLeft: &none, WorkflowsLeft: &none}),
	)
	ended, err := s.EndErasure(ctx, id)
	testkit.Must(b.t, err)
	e, err := s.Erasure(ctx, id)
	testkit.Must(b.t, err)
	if !ended || !e.Ended {
		b.t.Fatalf("the erase has not ended: %+v", e)
	}
	return e
}

// A table that an erasure would miss fails here, in three ways.
func TestEveryTableIsErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	for table, n := range b.rowsOf(b.a) {
		if n == 0 {
			t.Errorf("the seed leaves %s empty, so its erase shows nothing", table)
		}
	}
	compare(
		t,
		"tables whose rows are of no workspace, by their columns",
		b.texts(`select c.relname::text from pg_class c where c.relnamespace = 'cairn'::regnamespace and c.relkind `+
			`in ('r', 'p') and not c.relispartition
and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'workspace_id')`),
		[]string{
			"workspaces",
			"erasures",
			"erase_items",
			"erase_item_runs",
			"erase_rules",
			"embedding_spaces",
			"deployment_spend",
			"sweep_pages",
			"operator_keys",
			"operator_sessions",
			"channel_accounts",
			"pairings", // of users without a workspace; valid for an hour
			"store_state",
			"worker_beats",
			"goose_db_version",
		},
	)
	compare(t, "tables that cairn_erase reaches; a migration that makes one calls cairn.cover_erase",
		b.texts(`select tablename::text from pg_policies
where schemaname = 'cairn' and policyname = tablename || '_erase' and roles = '{cairn_erase}' and cmd = 'ALL' and `+
			`tablename not in ('erasures', 'erase_items', 'erase_item_runs')`), b.everywhere())
	compare(t, "tables with a rule for one conversation; a migration that makes one adds it to erase_rules",
		b.texts("select tbl from erase_rules"), b.tenantTables())
}

func TestReferencesAreErasedBeforeWhatTheyReferTo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tables, err := b.Erasures().ErasedTables(t.Context())
	testkit.Must(t, err)
	sorted := slices.Clone(tables)
	slices.Sort(sorted)
	if !slices.Equal(sorted, b.tenantTables()) {
		t.Errorf("erased are %v, there are %v", sorted, b.tenantTables())
	}
	for _, line := range b.texts(`select c.relname || ' ' || p.relname from pg_constraint f join pg_class c on ` +
		`c.oid = f.conrelid join pg_class p on p.oid = f.confrelid
where f.contype = 'f' and f.connamespace = 'cairn'::regnamespace and f.conrelid <> f.confrelid
			and not c.relispartition`) {
		var child, parent string
		fmt.Sscan(line, &child, &parent)
		if at := slices.Index(tables, parent); at >= 0 && slices.Index(tables, child) > at {
			t.Errorf("%s comes after %s, to which it refers", child, parent)
		}
	}
}

func TestEraseLeavesNoRowOfAWorkspaceAndTouchesNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	b.exec("insert into skills (workspace_id, name, head_version, origin, absorbed_into) select workspace_id, " +
		"'absorbed', 1, 'distill', id from skills where name = 'vault'")
	had, other := b.rowsOf(b.a), b.rowsOf(b.b)
	key := b.a.Key
	e := b.erase(erasure.Target{Workspace: b.a.ID, Derived: erasure.Keep})
	for table, n := range b.rowsOf(b.a) {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
		if e.Deleted[table] != had[table] || e.Remaining[table] != 0 {
			t.Errorf("%s: the erasure reports %d rows deleted and %d left; there were %d", table, e.Deleted[table],
				e.Remaining[table], had[table])
		}
	}
	if now := b.rowsOf(b.b); fmt.Sprint(now) != fmt.Sprint(other) {
		t.Errorf("the other workspace had %v, has %v", other, now)
	}
	if texts := b.number("select count(*) from erasures e where e::text like '%' || $1 || '%'", secret); texts != 0 {
		t.Error("the erasure holds a text")
	}
	fresh, err := b.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	if fresh.ID == b.a.ID || fresh.Key == key {
		t.Errorf("the name still identifies %+v", fresh)
	}
	b.in(fresh, func(context.Context, store.Tx) error { return nil })
}

// A process that does not know of the erasure also finds the new workspace.
func TestAnErasedWorkspaceIsForgottenByWhoeverMeetsIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	elsewhere, err := store.Open(t.Context(), b.url, store.Options{MaxConns: 2})
	testkit.Must(t, err)
	defer elsewhere.Close()
	known, err := elsewhere.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	b.erase(erasure.Target{Workspace: b.a.ID, Derived: erasure.Keep})
	if err := elsewhere.InWorkspace(t.Context(), known.ID, func(context.Context, store.Tx) error {
		return nil
	}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("entered: %v", err)
	}
	if fresh, err := elsewhere.Workspace(t.Context(), "a", true); err != nil || fresh.ID == known.ID {
		t.Errorf("found %+v again, %v", fresh, err)
	}
}

// Case E15 with many writers: none of them leaves any rows.
func TestWritersInFlightReCreateNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	ctx := t.Context()
	const writers = 3
	ended := make(chan error, writers)
	written := make(chan bool, 10_000)
	for w := range writers {
		go func() {
			for i := 0; ; i++ {
				err := b.InWorkspace(ctx, b.a.ID, func(ctx context.Context, q store.Tx) error {
					return q.Outbox().Enqueue(ctx, outbox.DriveRun, fmt.Sprint(w*1_000_000+i), 0)
				})
				if err != nil {
					ended <- err
					return
				}
				select {
				case written <- true:
				default:
				}
			}
		}()
	}
	for range 20 {
		<-written
	}
	b.erase(erasure.Target{Workspace: b.a.ID, Derived: erasure.Keep})
	for range writers {
		if err := <-ended; fault.CodeOf(err) != fault.Erasing && fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a writer ended with %v", err)
		}
	}
	for table, n := range b.rowsOf(b.a) {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

func TestAStepDoneTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	ctx, s := t.Context(), b.Erasures()
	target := erasure.Target{Workspace: b.a.ID, Derived: erasure.Keep}
	id, err := s.AcceptErasure(ctx, target)
	testkit.Must(t, err)
	if again, err := s.AcceptErasure(ctx, target); err != nil || again != id {
		t.Errorf("asked again it is %d, %v", again, err)
	}
	for range 2 {
		_, err := s.EraseRows(ctx, id, "messages", 10)
		testkit.Must(t, err)
		three := 3
		testkit.Must(t, s.NoteErasure(ctx, id, erasure.ExternalCounts{Objects: &three, Stopped: []string{"x", "y"}}))
	}
	if ended, err := s.EndErasure(ctx, id); ended || err != nil {
		t.Errorf("ended with rows left: %t, %v", ended, err)
	}
	e, err := s.Erasure(ctx, id)
	testkit.Must(t, err)
	if e.Deleted["messages"] != 1 || e.Objects != 3 || e.Workflows != 2 || e.Remaining["messages"] != 0 ||
		e.Remaining["runs"] != 1 {
		t.Errorf("counted %+v", e)
	}
}

// The functions are the only way to delete, and only in a workspace that is being erased.
func TestOnlyAnOpenErasureDeletes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	for _, role := range []string{"cairn_app", "cairn_system"} {
		s := b.as(role)
		s.refuses("42501", "delete from messages")
		s.refuses("42501", "update workspaces set state = 'erasing'")
		s.refuses("42501", "insert into erasures (workspace, workspace_key) values (1, 'x')")
		s.refuses("42501", "select cairn.erase_count(1, 'x', 1)")
	}
	b.as("cairn_app").refuses("42501", "select cairn.erase_accept(1, null, 'keep')")
	system := b.as("cairn_system")
	system.refuses("CA003", "select cairn.erase_rows(1, 'messages', 10)")
	system.refuses("CA002", "select cairn.erase_accept(999, null, 'keep')")
	system.refuses("CA003", "select cairn.erase_accept($1, 999, 'keep')", b.a.ID)
	if n := b.number("select count(*) from messages"); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// Data with other sources stays and loses the erased source. Data that a person created stays, too.
func TestWhatHasOtherSourcesStays(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, derived := range []string{erasure.Keep, erasure.Quarantine, erasure.Delete} {
		t.Run(derived, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.seed(b.a)
			talk := int64(b.number("select id from conversations"))
			b.exec("insert into conversations (workspace_id, external_id) values ($1, 'other')", b.a.ID)
			b.exec("insert into skill_sources (workspace_id, skill_id, version, conversation_id, from_seq, to_seq) "+
				"select $1, s.id, 1, c.id, 0, 0 from skills s, conversations c where c.external_id = 'other'", b.a.ID)
			b.exec("insert into skills (workspace_id, name, head_version, origin) values ($1, 'typed', 1, 'user')",
				b.a.ID)
			b.exec("insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, "+
				"description, body, lang, content_sha256, package_sha256, origin) select $1, id, 1, 0, 'x', 'x', "+
				"'x', 'en', sha256('x'), sha256('x'), 'user' from skills where name = 'typed'", b.a.ID)
			b.exec("insert into skill_sources (workspace_id, skill_id, version, conversation_id, from_seq, to_seq) "+
				"select $1, id, 1, $2, 0, 0 from skills where name = 'typed'", b.a.ID, talk)
			// A memory of the conversation that another conversation has rewritten, and one that
			// was not.
			b.exec("update memories set conversation_id = $1, from_seq = 0, to_seq = 0, version = 2", talk)
			b.exec("update memory_revisions set conversation_id = $1, from_seq = 0, to_seq = 0", talk)
			b.exec("insert into memory_revisions (workspace_id, memory_id, version, action, content, origin, "+
				"tainted, op_id) select $1, id, 2, 'replace', 'fresh', 'user', false, 'op2' from memories", b.a.ID)
			b.exec("insert into memories (workspace_id, external_id, type, content, content_sha256, origin, op_id, "+
				"conversation_id, from_seq, to_seq) values ($1, 'ffeeddccbbaa0099', 'core', 'only here', "+
				"sha256('y'), 'nudge', 'op', $2, 0, 0)", b.a.ID, talk)

			e := b.erase(erasure.Target{Workspace: b.a.ID, Conversation: talk, Derived: derived})
			if e.Skills != 0 || e.Memories != 1 {
				t.Errorf("%d skills and %d memories have no other source, want 0 and 1", e.Skills, e.Memories)
			}
			if got := b.texts("select name || ' ' || status || ' ' || (select count(*) from skill_sources o where " +
				"o.skill_id = s.id) from skills s order by 1"); !slices.Equal(got,
				[]string{"typed active 0", "vault active 1"}) {
				t.Errorf("skills, their states and sources: %q", got)
			}
			if n := b.number("select count(*) from skill_versions where body = $1 and run_id is null", secret); n != 1 {
				t.Errorf("the skill has lost its body")
			}
			want := map[string][]string{erasure.Keep: {"00000000000000aa active", "00112233445566ff active",
				"ffeeddccbbaa0099 active"}, erasure.Quarantine: {"00000000000000aa active", "00112233445566ff active",
				"ffeeddccbbaa0099 quarantined"}, erasure.Delete: {"00000000000000aa active", "00112233445566ff active"}}
			if got := b.texts("select external_id || ' ' || status from memories order by 1"); !slices.Equal(got,
				want[derived]) {
				t.Errorf("memories %q, want %q", got, want[derived])
			}
			revisions := map[string]int{erasure.Keep: 3, erasure.Quarantine: 3, erasure.Delete: 2}
			if n := b.number(
				"select count(*) from memory_revisions where conversation_id is null"); n != revisions[derived] ||
				b.number("select count(*) from memory_revisions") != n {
				t.Errorf("%d revisions, want %d", n, revisions[derived])
			}
			if left := b.texts("select external_id from conversations"); !slices.Equal(left, []string{"other"}) {
				t.Errorf("conversations %q", left)
			}
		})
	}
}

// A reply that could not be sent is erased with the conversation of its turn, also after /new.
func TestAnUnsentReplyIsErasedWithItsConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	talk := int64(b.number("select id from conversations"))
	b.exec("update channel_routes set conversation = 'another'")
	b.exec("update deliveries set state = 'dead', ended_at = now(), source = 'turn/' || (select id from runs where " +
		"conversation_id is not null limit 1)")
	b.erase(erasure.Target{Workspace: b.a.ID, Conversation: talk, Derived: erasure.Keep})
	if n := b.number("select (select count(*) from deliveries) + (select count(*) from delivery_parts)"); n != 0 {
		t.Errorf("%d deliveries and parts", n)
	}
	if n := b.number("select count(*) from channel_routes"); n != 1 {
		t.Error("the route of the current conversation is erased")
	}
}

// A message that is not handled is erased with the current conversation of its place. A later one begins another
// conversation.
func TestAWaitingMessageIsErasedWithItsConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	talk := int64(b.number("select id from conversations"))
	b.exec("update channel_routes set conversation = (select external_id from conversations)")
	b.exec("insert into channel_events (workspace_id, account, key, route_id, body, received_at) select " +
		"workspace_id, account, 'later', route_id, body, now() + interval '1 hour' from channel_events")
	b.erase(erasure.Target{Workspace: b.a.ID, Conversation: talk, Derived: erasure.Keep})
	if n := b.number("select count(*) from channel_events where key <> 'later'"); n != 0 {
		t.Errorf("%d events of the conversation", n)
	}
	if n := b.number("select count(*) from channel_events"); n != 1 {
		t.Errorf("%d later events", n)
	}
}
