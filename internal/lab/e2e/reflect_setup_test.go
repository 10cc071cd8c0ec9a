package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/reflection"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// imported stores an imported conversation with the original times of its messages.
func imported(b *apptest.Bundle, name string, messages ...transcript.Message) (id int64) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		id, err = q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: name, Messages: messages}, "import")
		return err
	})
	return id
}

// at returns a time in UTC.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04", text)
	testkit.Must(t, err)
	return when
}

// talk returns a message of a user and the reply of the assistant.
func talk(t testing.TB, when, text, answer string) []transcript.Message {
	t.Helper()
	said := at(t, when)
	return []transcript.Message{{Role: transcript.User, Content: text, Time: said},
		{Role: transcript.Assistant, Content: answer, Time: said.Add(time.Minute)}}
}

// reflectOn reflects on a date and waits for the end.
func reflectOn(b *apptest.Bundle, r reflection.DateRequest) reflection.DayDetail {
	b.T.Helper()
	opened, err := b.Reflections.Now(b.T.Context(), b.Workspace, r)
	testkit.Must(b.T, err)
	return reflected(b, opened.Run)
}

// reflected waits for the end of a run and returns its date.
func reflected(b *apptest.Bundle, r run.Run) reflection.DayDetail {
	b.T.Helper()
	testkit.Eventually(b.T, fmt.Sprintf("run %s of %s has ended", r.Ref.Run, r.Key), func() bool {
		return count(b, fmt.Sprintf("select count(*) from cairn.runs where id = '%s' and status = 'ended'",
			r.Ref.Run)) == 1
	})
	out, err := b.App.Reflect.Show(b.T.Context(), b.Workspace.ID, r.Key)
	testkit.Must(b.T, err)
	return out
}

// noting returns one call of note_append.
func noting(observation string, messages ...int) llm.ToolCall {
	return saying("note_append", map[string]any{"observation": observation, "messages": messages})
}

// remembering returns one call of memory_save in a reflection.
func remembering(content string, messages ...int) llm.ToolCall {
	return saying("memory_save", map[string]any{"content": content, "messages": messages})
}

// scriptReflection makes the model send calls for a day and then stop. No skill is distilled.
func scriptReflection(b *apptest.Bundle, calls ...llm.ToolCall) {
	if len(calls) > 0 {
		b.Model.On(openaitest.Rule{Stage: "reflection", Last: llm.RoleUser, Calls: calls})
	}
	b.Model.On(openaitest.Rule{Stage: "reflection", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
}
