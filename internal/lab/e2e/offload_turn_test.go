package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// smallWindow leaves about 1,100 tokens for earlier messages.
func smallWindow(c *config.Config) { c.ModelWindow = 3000 }

// chatter returns a message of about 150 tokens that contains one fact worth finding.
func chatter(n int) string {
	return fmt.Sprintf("The crate number %d went to warehouse W-%d. %s", n, 7000+n,
		strings.Repeat("It was a long day with little rain and much to carry around. ", 9))
}

// crates returns two messages in one, so that a conversation is long after half as many turns.
func crates(n int) string { return chatter(2*n) + chatter(2*n+1) }

// snapshotOf returns a model's compaction of the messages in a request.
func snapshotOf(c openaitest.Call) string {
	raw, _ := json.Marshal(map[string]any{"goal": "Keep track of the crates in the warehouse",
		"key_facts": []string{fmt.Sprintf("crates were carried, %d characters were said",
			len(c.Messages[len(c.Messages)-1].Content))},
		"recent_actions": []string{"each crate was acknowledged"}, "pending": []string{}})
	return string(raw)
}

// A conversation that exceeds the model's window is reviewed once and compacted. Search still
// finds facts that the compaction omits.
func TestALongConversationIsFlushedAndCompactedAndNeverCut(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, smallWindow)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "Where is crate 2", Results: new(0),
		Offers: []string{"grep_content", "read_content"},
		Calls: []llm.ToolCall{saying("grep_content",
			map[string]any{"pattern": "crate NUMBER 2 ", "before": 0, "after": 0})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, ReplyFunc: func(c openaitest.Call) string {
		return "Found: " + c.Messages[len(c.Messages)-1].Content
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "flush", Results: new(0),
		Calls: []llm.ToolCall{saying("note_append",
			map[string]string{"observation": "Crates went to warehouses W-7000 and up."})}})
	b.Model.On(openaitest.Rule{Stage: "flush", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "offload", ReplyFunc: snapshotOf})
	const turns = 9
	for n := range turns {
		if got := b.Say("c", n, chatter(n)); got.Status != conversation.StatusEnded || got.Reply != "Noted." {
			t.Fatalf("turn %d: %+v", n, got)
		}
	}
	got := b.Say("c", turns, "Where is crate 2?")
	if !strings.Contains(got.Reply, "W-7002") {
		t.Errorf("answered %q", got.Reply)
	}
	validThreads(t, b)
	var message, record string
	testkit.Must(t, b.Admin().QueryRow(t.Context(), "select t.message_id, r.workflow_id from cairn.compactions c "+
		"join cairn.runs r on r.id = c.run_id join cairn.turns t on t.ended_at = (select min(ended_at) from "+
		"cairn.turns where ended_at > c.created_at)").Scan(&message, &record))
	recordTurn(b, "c", message, "Turn/overflow")
	b.Record(record, "Offload/conversation")
	if n := len(asked(b, "flush")); n != 2 {
		t.Errorf("%d calls of the review before the compaction, want 2", n)
	}
	for _, c := range asked(b, "flush") {
		if names := toolNames(c); !slices.Equal(names, []string{"note_append"}) {
			t.Errorf("the review has the tools %v", names)
		}
	}
	if n := len(asked(b, "offload")); n != 1 {
		t.Errorf("%d records were asked for, want 1", n)
	}
	// The requests of turns contain all messages or their compaction. Between two compactions,
	// each request has the same prefix.
	var before openaitest.Call
	offloaded := 0
	for i, c := range asked(b, "turn") {
		text := ""
		for _, m := range c.Messages {
			text += m.Content + "\n"
		}
		record := strings.Contains(text, "[Earlier in this conversation: ")
		if has := slices.Contains(toolNames(c), "grep_content"); has != record {
			t.Errorf("request %d has a record: %t, and the tools that look behind it: %t", i, record, has)
		}
		if record {
			offloaded++
		}
		for n := range min(i, turns) {
			if !record && !strings.Contains(text, fmt.Sprintf("crate number %d ", n)) {
				t.Errorf("request %d lacks turn %d, and has no record", i, n)
			}
		}
		if record && offloaded > 1 {
			for k := range 2 { // instructions and record
				if c.Messages[k].Content != before.Messages[k].Content {
					t.Errorf("request %d begins with another message %d than the one before", i, k)
				}
			}
		}
		before = c
	}
	if offloaded < 2 {
		t.Errorf("%d requests have a record", offloaded)
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		ms, err := q.Transcripts().Messages(ctx, view(b, "c").ID, 0, 100)
		if err != nil || len(ms) != 2*turns+4 || ms[0].Content != chatter(0) {
			t.Errorf("the transcript has %d messages, %v", len(ms), err)
		}
		notes, err := q.Reflections().NotesOf(ctx, time.Now().UTC().Format(time.DateOnly), 10)
		if err != nil || len(notes) != 1 {
			t.Errorf("notes %+v, %v", notes, err)
		}
		return nil
	})
	// the review after ten turns may be on its way
	rows := b.Admin().QueryRow(t.Context(), `select count(*) filter (where kind = 'offload' and outcome = `+
		`'completed' and result ->> 'upto' is not null), count(*) filter (where kind = 'flush' and reason = `+
		`'saved'), count(*) filter (where status <> 'ended' and kind <> 'nudge') from cairn.runs`)
	var records, flushes, open int
	testkit.Must(t, rows.Scan(&records, &flushes, &open))
	if records != 1 || flushes != 1 || open != 0 {
		t.Errorf("%d runs of records, %d of reviews, %d open", records, flushes, open)
	}
	var id string
	testkit.Must(t, b.Admin().QueryRow(t.Context(), "select run_id from cairn.compactions").Scan(&id))
	made, err := b.Runs.Report(t.Context(), run.Ref{Workspace: b.Workspace.ID, Run: id})
	if err != nil || made.Offload == nil || made.Offload.Upto == 0 || made.Offload.Tokens >= made.Offload.Was ||
		len(made.Offload.Handles) == 0 || made.Offload.Flush == "" {
		t.Errorf("the record's run is told as %+v, %v", made.Offload, err)
	}
	turn, err := b.Runs.Report(t.Context(), run.Ref{Workspace: b.Workspace.ID, Run: got.Run})
	if err != nil || turn.Agent.Record != id {
		t.Errorf("the turn's run is told as %+v, %v", turn.Agent, err)
	}
}

func toolNames(c openaitest.Call) (out []string) {
	for _, tool := range c.Tools {
		out = append(out, tool.Name)
	}
	return out
}
