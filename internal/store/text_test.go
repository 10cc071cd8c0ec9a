package store_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// dirty is text that JSON can contain and a text column cannot; clean is the stored form. The
// backslash before u0000 in the middle is itself escaped: six characters of source code, which
// stay.
const (
	dirty = "a\x00b \\u0000 \\\x00 \xff"
	clean = "a\uFFFDb \\u0000 \\\uFFFD \uFFFD"
)

func TestCharactersThatCannotBeStoredAreReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := func(a *distillation.AcceptedRequest) { a.WorkflowID = func(int, int) string { return "w" } }
	r, _ := b.accept(b.wish("key\x00", dirty, id, func(a *distillation.AcceptedRequest) {
		a.Conversation.ID, a.Conversation.Title = dirty, dirty
		a.Conversation.Messages = append(a.Conversation.Messages,
			transcript.Message{ID: dirty, Role: transcript.Tool, Name: dirty, ToolCallID: dirty, Content: dirty,
				ToolCalls: []transcript.ToolCall{{ID: dirty, Name: dirty, Arguments: dirty}}})
	}))
	b.accept(b.wish("key\x00", dirty, id)) // is found again
	if got := b.stored(); got != "1 1 2 1" {
		t.Errorf("runs, conversations, messages, duties: %s", got)
	}
	var got []string
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		c, err := q.Transcripts().Conversation(ctx, r.Conversation, 0, 9)
		testkit.Must(t, err)
		m := c.Messages[1]
		got = append(got, c.ID, c.Title, c.Messages[0].Content, m.ID, m.Name, m.ToolCallID, m.Content,
			m.ToolCalls[0].ID, m.ToolCalls[0].Name, m.ToolCalls[0].Arguments)
		return nil
	})

	task := distillation.Task{Ref: r.Ref, Key: "t", Name: dirty, Lang: "en"}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		testkit.Must(t, q.Tasks().PutTasks(ctx, []distillation.Task{task}))
		task.Query = dirty
		testkit.Must(t, q.Tasks().SaveRecall(ctx, task))
		task.Draft = &skill.Draft{Name: dirty, Procedure: dirty, Examples: []string{dirty}}
		testkit.Must(t, q.Tasks().SaveDraft(ctx, task, []string{dirty}))
		testkit.Must(t, q.Tasks().SaveWritten(ctx, task, distillation.Scripts,
			[]distillation.WrittenFile{{Name: dirty, Content: dirty, Reason: dirty}}))
		task.Package = &distillation.Package{Version: skill.Version{Body: dirty}}
		testkit.Must(t, q.Tasks().SavePackage(ctx, task))
		task.Outcome, task.Reason = distillation.Failed, dirty
		testkit.Must(t, q.Tasks().EndTask(ctx, task))
		testkit.Must(t, q.Runs().EndRun(ctx, r.Ref.Run, run.Failed, dirty, distillation.Result{Code: dirty}))
		return nil
	})
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		back, err := q.Tasks().Task(ctx, r.Ref.Run, "t")
		testkit.Must(t, err)
		files, err := q.Tasks().Written(ctx, back)
		testkit.Must(t, err)
		ended, err := q.Runs().Run(ctx, r.Ref.Run)
		testkit.Must(t, err)
		got = append(got, back.Name, back.Query, back.Draft.Name, back.Draft.Procedure, back.Draft.Examples[0],
			back.Notes[0], back.Package.Version.Body, back.Reason,
			files[0].Name, files[0].Content, files[0].Reason, ended.Reason)
		return nil
	})
	for i, text := range got {
		if text != clean {
			t.Errorf("text %d came back as %q, want %q", i, text, clean)
		}
	}
}

func TestADutyKeepsWhyItFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Enqueue(ctx, outbox.EmbedDoc, "1", 0)
	})
	duties, err := b.ClaimOutbox(t.Context(), outbox.Kinds(), 9)
	if err != nil || len(duties) != 1 {
		t.Fatalf("claimed %v, %v", duties, err)
	}
	testkit.Must(t, b.FailOutboxTask(t.Context(), duties[0], "the endpoint said "+dirty))
	if got := b.texts("select last_error from outbox")[0]; !strings.HasSuffix(got, clean) {
		t.Errorf("noted %q", got)
	}
}
