package store_test

import (
	"testing"

	"cairn/internal/domain/lexical"
	"cairn/internal/testkit"
	"cairn/schemas"
)

// Subjects that shared a target by their folded name are told apart again: a memory of a mem0 client belongs
// to the ID that the client named, another one to the ID of its target.
func TestMigratedSubjectsHaveTheirIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("alter table memory_targets add column aliases text[] not null default '{}'")
	b.exec(`insert into memory_targets (workspace_id, type, target_key, match_key, target)
		values ($1, 'personal', 'ab', 'ab', 'AB'), ($1, 'procedural', 'dé', 'dé', $2)`, b.a.ID, "De\u0301")
	for i, owner := range []string{"AB", "A-B", "", "other"} {
		b.exec(`insert into memories (workspace_id, external_id, type, target, content, content_sha256, origin, op_id,
			metadata, targets) values ($1, lpad($2::text, 16, '0'), 'personal', 'ab', $2, sha256($2::bytea), 'user',
			'x',
			case when $3 = '' then '{}' else jsonb_build_object('mem0', jsonb_build_object('user_id', $3::text)) end,
			'{procedural/dé,tool/x}')`, b.a.ID, string(rune('0'+i)), owner)
	}
	b.exec(`insert into search_docs (workspace_id, kind, owner_id, status, text, type, target)
		select workspace_id, 'memory', id, 'active', content, type, target from memories`)
	b.exec(`insert into lex_docs (workspace_id, doc, keys, sv) select workspace_id, doc,
		array[workspace_id << 32 | 7, workspace_id << 32 | $1::bigint], '{8:1}/1000000000' from search_docs`,
		lexical.Key("target", "ab"))
	b.exec("insert into lex_terms (workspace_id, term, df) values ($1, 7, 4), ($1, $2, 4)", b.a.ID,
		lexical.Key("target", "ab"))
	migration, err := schemas.Migrations.ReadFile("migrations/00180_exact_targets.sql")
	testkit.Must(t, err)
	b.exec(string(migration))
	got := b.texts("select content || ' ' || target || ' ' || targets[1] from memories order by content")
	want := []string{"0 AB procedural/Dé", "1 A-B procedural/Dé", "2 AB procedural/Dé", "3 AB procedural/Dé"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("memories %q, want %q", got, want)
		}
	}
	targets := b.texts("select type || ' ' || target_key || ' ' || match_key || ' ' || target from memory_targets " +
		"order by id")
	if len(targets) != 3 || targets[0] != "personal AB ab AB" || targets[1] != "procedural Dé dé Dé" ||
		targets[2] != "personal A-B ab A-B" {
		t.Errorf("targets %q", targets)
	}
	for id, n := range map[string]int{"ab": 0, "AB": 3, "A-B": 1} {
		key := lexical.Key("target", id)
		if docs := b.number("select count(*) from lex_docs where keys @> array[workspace_id << 32 | $1::bigint]",
			key); docs != n {
			t.Errorf("%d documents are indexed under %q, want %d", docs, id, n)
		}
		if df := b.number("select coalesce(sum(df), 0) from lex_terms where term = $1", key); df != n {
			t.Errorf("%q is counted %d times, want %d", id, df, n)
		}
	}
}
