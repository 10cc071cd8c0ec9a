package store_test

import (
	"context"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// The content of a file is read in its own workspace only, also by one who knows its hash.
func TestAttachmentsAreReadInTheirWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.exec("update attachments set sha256 = sha256(content)")
	sha := b.texts("select encode(sha256, 'hex') from attachments")[0]
	content, err := b.AttachmentContent(t.Context(), b.a.ID, sha)
	testkit.Must(t, err)
	if string(content) != secret {
		t.Errorf("read %q", content)
	}
	if _, err := b.AttachmentContent(t.Context(), b.b.ID, sha); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another workspace reads it: %v", err)
	}
	if _, err := b.AttachmentContent(t.Context(), b.a.ID, "x"); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("no hash: %v", err)
	}
	b.exec("update attachments set content = ''")
	if _, err := b.AttachmentContent(t.Context(), b.a.ID, sha); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("deleted content: %v", err)
	}
}

// The words of a recording replace the text of a user's message of the workspace, if it is the expected one.
func TestTheWordsOfARecordingReplaceOneText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	talk := int64(b.number("select id from conversations where workspace_id = $1", b.a.ID))
	replace := func(ws int64, was string) {
		testkit.Must(t, b.InWorkspace(t.Context(), ws, func(ctx context.Context, q store.Tx) error {
			return q.Transcripts().ReplaceText(ctx, talk, 0, was, "new words")
		}))
	}
	changed := func() int { return b.number("select count(*) from messages where content = 'new words'") }
	replace(b.b.ID, secret)
	replace(b.a.ID, "another text")
	if n := changed(); n != 0 {
		t.Errorf("%d messages are changed", n)
	}
	replace(b.a.ID, secret)
	if n := changed(); n != 1 {
		t.Errorf("%d messages are changed, want 1", n)
	}
	b.exec("update messages set role = 'assistant', content = $1", secret)
	replace(b.a.ID, secret)
	if n := changed(); n != 0 {
		t.Error("a message of the assistant is changed")
	}
}

func TestExpiredAttachmentsArePurged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	b.exec("update attachments set expires_at = now() - interval '1 second' where workspace_id = $1", b.a.ID)
	for _, want := range []int{1, 0} {
		n, err := b.Purge(t.Context())
		testkit.Must(t, err)
		if n != want {
			t.Errorf("purged %d rows, want %d", n, want)
		}
	}
	if n := b.number("select count(*) from attachments where workspace_id = $1", b.b.ID); n != 1 {
		t.Errorf("%d attachments are left", n)
	}
}
