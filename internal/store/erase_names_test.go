package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// The identity was written three times: by a person, by the conversation to erase, and again by
// that one. Its versions are treated like memories, and the previous version becomes active again.
// The next writer can continue from it.
func TestTheIdentityThatAConversationWroteGoesWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, c := range []struct {
		derived  string
		head     int
		versions []string // the remaining rows
		next     int
	}{
		{erasure.Keep, 3, []string{"1 a person's", "2 of the talk", "3 of the talk again"}, 4},
		{erasure.Quarantine, 1, []string{"1 a person's", "2 of the talk", "3 of the talk again"}, 4},
		{erasure.Delete, 1, []string{"1 a person's"}, 2},
	} {
		ws, err := b.Workspace(t.Context(), c.derived, true)
		testkit.Must(t, err)
		talk, run := b.talked(ws, "talk", int64(n))
		b.exec("insert into identity_versions (workspace_id, version, content, action, origin, op_id) values ($1, "+
			"1, 'a person''s', 'replace', 'user', 'op')", ws.ID)
		b.exec("insert into memory_histories (workspace_id, id, content_sha256, conversation_id, from_seq, to_seq, "+
			"messages, tokens, op_id) values ($1, 'aabbccddeeff0011', sha256('x'), $2, 0, 0, 1, 1, 'op')", ws.ID, talk)
		b.exec("insert into identity_versions (workspace_id, version, content, action, origin, op_id, run_id) "+
			"values ($1, 2, 'of the talk', 'replace', 'agent', 'op', $2)", ws.ID, run)
		b.exec("insert into identity_versions (workspace_id, version, content, action, origin, op_id, history_id) "+
			"values ($1, 3, 'of the talk again', 'replace', 'agent', 'op', 'aabbccddeeff0011')", ws.ID)
		b.exec("update workspaces set identity_version = 3 where id = $1", ws.ID)

		e := b.erase(erasure.Target{Workspace: ws.ID, Conversation: talk, Derived: c.derived})
		if got := b.texts("select version || ' ' || content from identity_versions where workspace_id = $1 and "+
			"run_id is null and history_id is null order by version", ws.ID); !slices.Equal(got, c.versions) {
			t.Errorf("%s: versions %q", c.derived, got)
		}
		if want := int64(3 - len(c.versions)); e.Deleted["identity_versions"] != want ||
			e.Remaining["identity_versions"] != 0 {
			t.Errorf("%s: it reports %d deleted and %d left", c.derived, e.Deleted["identity_versions"],
				e.Remaining["identity_versions"])
		}
		b.in(ws, func(ctx context.Context, q store.Tx) error {
			head, err := q.Identity().Identity(ctx)
			if err != nil || head.Version != c.head {
				t.Errorf("%s: in force is %+v, %v", c.derived, head, err)
			}
			next, err := q.Identity().AdvanceIdentity(ctx, head.Version, "fresh", "replace", "",
				memory.Writer{Origin: "user", Op: "op2"})
			if err != nil || next != c.next {
				t.Errorf("%s: the next version is %d, %v", c.derived, next, err)
			}
			return err
		})
	}
}

// A version that another run has written since stays active.
func TestAnIdentityWrittenSinceStaysInForce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	talk, run := b.talked(b.a, "talk", 1)
	b.exec("insert into identity_versions (workspace_id, version, content, action, origin, op_id, run_id) values "+
		"($1, 1, 'of the talk', 'replace', 'agent', 'op', $2), ($1, 2, 'since', 'replace', 'agent', 'op', null)",
		b.a.ID, run)
	b.exec("update workspaces set identity_version = 2 where id = $1", b.a.ID)
	b.erase(erasure.Target{Workspace: b.a.ID, Conversation: talk, Derived: erasure.Delete})
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		head, err := q.Identity().Identity(ctx)
		if err != nil || head.Version != 2 || head.Content != "since" {
			t.Errorf("in force is %+v, %v", head, err)
		}
		versions, err := q.Identity().IdentityHistory(ctx, 10)
		if len(versions) != 1 {
			t.Errorf("versions %+v", versions)
		}
		return err
	})
}

// talked creates a conversation with its own run.
func (b *bundle) talked(ws access.Workspace, name string, n int64) (conversation int64, id string) {
	b.t.Helper()
	b.exec("insert into conversations (workspace_id, external_id) values ($1, $2)", ws.ID, name)
	b.exec("insert into messages (workspace_id, conversation_id, seq, external_id, role, content) select $1, id, 0, "+
		"'0', 'user', 'x' from conversations where workspace_id = $1", ws.ID)
	conversation = int64(b.number("select id from conversations where workspace_id = $1 and external_id = $2", ws.ID,
		name))
	id = run.NewID()
	b.exec("insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id, conversation_id) "+
		"values ($1, $4, 'summarize', 'k', sha256('x'), '{}', 'w' || $3::bigint, $2)", ws.ID, conversation, n, id)
	return conversation, id
}

// The words of a speaker's name are counted for search. They are subtracted with the conversation:
// a remaining count would reveal that a person of that name has talked here.
func TestTheNamesOfSpeakersGoWithTheirConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(id string, names ...string) (out int64) {
		var said []transcript.Message
		for i, name := range names {
			said = append(said, transcript.Message{Role: transcript.User, Name: name,
				Content: fmt.Sprintf("Ornithopter number %d flies.", i), Time: time.Unix(int64(i), 0)})
		}
		b.in(b.a, func(ctx context.Context, q store.Tx) (err error) {
			out, err = q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: id, Messages: said}, "import")
			return err
		})
		return out
	}
	counts := func() []string {
		return b.texts("select term || ' ' || df || ' ' || speakers from lex_terms order by term")
	}
	put("stays", "Mira", "Tom Zwetschkenbaum")
	before := counts()
	goes := put("goes", "Aurelia Zwetschkenbaum", "Mira", "Aurelia Zwetschkenbaum", "Mira Mira")
	if slices.Equal(counts(), before) || b.number("select count(*) from lex_terms where speakers > 0") < 4 {
		t.Fatalf("no names are counted: %q", counts())
	}
	b.erase(erasure.Target{Workspace: b.a.ID, Conversation: goes, Derived: erasure.Keep})
	if after := counts(); !slices.Equal(after, before) {
		t.Errorf("the words were counted as %q, are after the erase %q", before, after)
	}
}
