package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// chat returns a session with alternating speakers.
func chat(lines ...string) (out []transcript.Message) {
	for i, line := range lines {
		role := transcript.User
		if i%2 == 1 {
			role = transcript.Assistant
		}
		out = append(out, transcript.Message{Role: role, Content: line})
	}
	return out
}

// summarize requests a summary and does not wait for its end.
func summarize(b *apptest.Bundle, messages []transcript.Message, change ...func(*memoryagent.Request)) run.Run {
	b.T.Helper()
	r := memoryagent.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: messages,
		Spec: app.TurnSpec(b.Config)}
	for _, f := range change {
		f(&r)
	}
	out, err := b.Progressive.Summarize(b.T.Context(), r)
	testkit.Must(b.T, err)
	return out
}

// summarized waits for the end of a request.
func summarized(b *apptest.Bundle, ref run.Ref) (out memoryagent.Report) {
	b.T.Helper()
	testkit.Eventually(b.T, "the session is summarised", func() bool {
		var err error
		out, err = b.Progressive.Report(b.T.Context(), ref)
		testkit.Must(b.T, err)
		return out.State == run.Ended
	})
	return out
}

// played is one response of an agent.
type played struct {
	text  string
	calls []llm.ToolCall
}

// perform scripts the agents of a stage whose system message contains a text. The nth response
// of a run is the nth of responses; the last one repeats.
func perform(b *apptest.Bundle, stage, system string, responses ...func(openaitest.Call) played) {
	of := func(c openaitest.Call) played {
		n := 0
		for _, m := range c.Messages {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return responses[min(n, len(responses)-1)](c)
	}
	b.Model.On(openaitest.Rule{Stage: stage, System: system, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return of(c).calls
	}, ReplyFunc: func(c openaitest.Call) string { return of(c).text }})
}

// does returns a response with tool calls.
func does(calls ...llm.ToolCall) func(openaitest.Call) played {
	for i := range calls {
		calls[i].ID = string(rune('a' + i))
	}
	return func(openaitest.Call) played { return played{calls: calls} }
}

// says returns a response with text.
func says(text string) func(openaitest.Call) played {
	return func(openaitest.Call) played { return played{text: text} }
}

type object = map[string]any

func addMeta(pairs ...string) llm.ToolCall {
	return saying("add_meta_memory", object{"meta_memories": tasks(pairs)})
}

func handsOff(pairs ...string) llm.ToolCall {
	return saying("hands_off", object{"memory_tasks": tasks(pairs)})
}

// tasks returns hand-off tasks for pairs such as "personal/alice".
func tasks(pairs []string) (out []object) {
	for _, p := range pairs {
		kind, target, _ := strings.Cut(p, "/")
		out = append(out, object{"memory_type": kind, "memory_target": target})
	}
	return out
}

func addSummary(text string) llm.ToolCall {
	return saying("add_summary_memory", object{"summary_memory": text})
}

func looksFor(query string) llm.ToolCall {
	return saying("vector_retrieve_memory", object{"query_items": []object{{"query": query}}})
}

func adds(content string) llm.ToolCall {
	return saying("add_memory", object{"memories": []object{{"memory_content": content}}})
}

// remembers returns the active memories of a type as "target: content".
func remembers(b *apptest.Bundle, kind memory.Type) []string {
	return column[string](b, "select target || ': ' || content from cairn.memories where workspace_id = $1 and type "+
		"= $2 and status = 'active' order by id", b.Workspace.ID, kind)
}

// retrieve asks long-term memory a question.
func retrieve(b *apptest.Bundle, query, mode string) memoryagent.Answer {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Minute)
	defer cancel()
	out, err := b.Progressive.Retrieve(ctx,
		memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Query: query, Mode: mode,
			Spec: app.TurnSpec(b.Config)})
	testkit.Must(b.T, err)
	return out
}

// results returns the decoded tool messages of a request.
func results(t *testing.T, c openaitest.Call) (out []object) {
	t.Helper()
	for _, m := range c.Messages {
		if m.Role == llm.RoleTool {
			one := object{}
			if err := json.Unmarshal([]byte(m.Content), &one); err != nil {
				t.Errorf("result %q: %v", m.Content, err)
			}
			out = append(out, one)
		}
	}
	return out
}

// column reads one column as the superuser.
func column[T any](b *apptest.Bundle, sql string, args ...any) []T {
	b.T.Helper()
	rows, err := b.Admin().Query(b.T.Context(), sql, args...)
	testkit.Must(b.T, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	testkit.Must(b.T, err)
	return out
}
