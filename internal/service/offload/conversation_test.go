package offload_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/offload"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// compactor is how conversations are compacted.
func (w *working) compactor() offload.ConversationCompactor {
	return offload.ConversationCompactor{Service: w.Service, Spec: spec}
}

// talk stores a conversation of so many turns and gives its number.
func (w *working) talk(turns int) (id int64) {
	w.t.Helper()
	testkit.Must(w.t, w.InWorkspace(w.t.Context(), w.A.ID, func(ctx context.Context, tx store.Tx) (err error) {
		c := transcript.Conversation{ID: "talk", Messages: thread(turns)}
		id, err = tx.Transcripts().PutConversation(ctx, c, "import")
		return err
	}))
	return id
}

// overflow returns the turns in a range that no longer fit.
func (w *working) overflow(conversation int64, after, upto int) agentrun.Overflow {
	o := agentrun.Overflow{Workspace: w.A.ID, Conversation: conversation, After: after, Upto: upto, Lang: "en"}
	for i, m := range thread(upto)[4*after:] {
		o.Said = append(o.Said, domainconversation.TurnMessage{Turn: after + 1 + i/4, Message: m})
		o.Tokens += workingmemory.Tokens([]transcript.Message{m})
	}
	return o
}

func (w *working) begin(o agentrun.Overflow) *contract.OffloadToStart {
	w.t.Helper()
	out, err := w.compactor().Begin(w.t.Context(), o)
	testkit.Must(w.t, err)
	return out
}

// record returns the record of a conversation after a turn.
func (w *working) record(conversation int64, upto int) (c workingmemory.Compaction, found bool) {
	w.t.Helper()
	err := w.Service.Store.InWorkspace(w.t.Context(), w.A.ID, func(ctx context.Context, tx store.Tx) (err error) {
		c, found, err = tx.Offloads().CompactionAt(ctx, conversation, upto)
		return err
	})
	testkit.Must(w.t, err)
	return c, found
}

// groupOf identifies a group of a run.
func groupOf(ref run.Ref, n int) contract.GroupInput {
	return contract.GroupInput{RunRef: pgtest.RunRef(ref), Group: n}
}

// close closes a run and returns its stored result.
func (w *working) close(ref run.Ref, reasons []string, code, why string) offload.CompactionResult {
	w.t.Helper()
	out, err := w.Close(w.t.Context(),
		contract.CloseOffloadInput{RunRef: pgtest.RunRef(ref), Reasons: reasons, Code: code, Why: why})
	testkit.Must(w.t, err)
	stored := pgtest.Stored[offload.CompactionResult](w.t, w.Service.Store, ref)
	want := contract.OffloadResult{Degraded: stored.Degraded != "", Tokens: stored.Tokens,
		Groups: max(len(stored.Records), len(stored.Handles))}
	if out != want {
		w.t.Errorf("closed with %+v, want %+v", out, want)
	}
	return stored
}

func (w *working) closed(p *contract.OffloadToStart, reasons []string, code, why string) offload.CompactionResult {
	w.t.Helper()
	ref := run.Ref{Workspace: w.A.ID, Run: p.Input.Run}
	return w.close(ref, reasons, code, why)
}

func TestBeginPutsTurnsAwayAndPlansTheirRecord(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.talk(8)
	plan := w.begin(w.overflow(c, 0, 6))
	want := fmt.Sprintf("offload/%s/%d-6", w.A.Key, c)
	if in := plan.Input; plan.WorkflowID != want || in.Groups != 1 || in.Run == "" || in.Flush != nil {
		t.Errorf("planned %+v", plan)
	}
	hits, err := w.Grep(t.Context(), w.A.ID, workingmemory.Where{Session: workingmemory.Session{Conversation: c}},
		pattern("listening on port"))
	testkit.Must(t, err)
	if hits.Total != 6 || hits.Hits[0].Label != "messages 1 to 24 of the conversation" {
		t.Errorf("found %+v", hits)
	}
	if n := w.Number("select count(*) from outbox where kind = 'drive'"); n != 1 {
		t.Errorf("%d duties to drive the run", n)
	}
	if _, found := w.record(c, 6); found {
		t.Error("there is a record before its model was asked")
	}
}

func TestBeginRepeatedIsTheSameRun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	o := w.overflow(w.talk(8), 0, 6)
	o.Flush = &agentrun.Spec{Model: "scripted"}
	first := w.begin(o)
	if again := w.begin(o); again.Input.Run != first.Input.Run || again.WorkflowID != first.WorkflowID {
		t.Errorf("planned %+v, and then %+v", first, again)
	}
	if first.Input.Flush == nil || first.Input.Flush.Run == first.Input.Run {
		t.Errorf("the review before it is %+v", first.Input.Flush)
	}
	if rows := w.Rows("runs", "offload_blobs", "outbox"); !strings.HasPrefix(rows, "runs 2, offload_blobs 1,") {
		t.Errorf("it leaves %s", rows)
	}
	w.closed(first, nil, "", "")
	if after := w.begin(o); after != nil {
		t.Errorf("planned after its end %+v", after)
	}
}

func TestCloseStoresTheRecordOfAConversationOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.talk(8)
	o := w.overflow(c, 0, 6)
	plan := w.begin(o)
	first := w.closed(plan, nil, "", "")
	stored, found := w.record(c, 6)
	if !found || stored.Degraded != "" || !strings.Contains(stored.Content, "Goal: Look at each service") {
		t.Errorf("stored %+v", stored)
	}
	if first.Upto != 6 || first.Was != o.Tokens || first.Tokens != stored.Tokens || len(first.Handles) != 1 ||
		!strings.Contains(stored.Content, first.Handles[0]) || first.Tokens >= first.Was {
		t.Errorf("closed with %+v", first)
	}
	again := w.closed(plan, nil, "wall_clock", "too late")
	if again.Degraded != "" || again.Tokens != first.Tokens || !slices.Equal(again.Handles, first.Handles) {
		t.Errorf("closed with %+v, and then %+v", first, again)
	}
	if rows := w.Rows("compactions", "llm_calls", "outbox"); !strings.HasPrefix(rows, "compactions 1, llm_calls 1,") {
		t.Errorf("it leaves %s", rows)
	}
}

func TestCloseMakesTheRecordByRuleWhenNoModelDoes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.talk(8)
	got := w.closed(w.begin(w.overflow(c, 0, 6)), nil, "wall_clock", "it took too long")
	stored, found := w.record(c, 6)
	if !found || got.Degraded != "wall_clock: it took too long" || stored.Degraded != got.Degraded {
		t.Errorf("closed with %+v, stored %+v", got, stored)
	}
	for _, line := range []string{"Goal: Please look at service 0 in region north.", "service 5 in region north",
		got.Handles[0]} {
		if !strings.Contains(stored.Content, line) {
			t.Errorf("the record lacks %q:\n%s", line, stored.Content)
		}
	}
	if len(w.model.asked) != 0 {
		t.Error("a model was asked")
	}
}

func TestBeginAtOnceIsDoneByRule(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.talk(8)
	o := w.overflow(c, 0, 6)
	o.AtOnce, o.Flush = true, &agentrun.Spec{Model: "scripted"}
	for range 2 {
		if plan := w.begin(o); plan != nil {
			t.Errorf("planned %+v", plan)
		}
	}
	stored, found := w.record(c, 6)
	if !found || !strings.HasPrefix(stored.Degraded, "wall_clock") || len(w.model.asked) != 0 {
		t.Errorf("stored %+v", stored)
	}
	if rows := w.Rows("runs", "compactions"); rows != "runs 1, compactions 1" { // none of a review
		t.Errorf("it leaves %s", rows)
	}
}

// The next record includes the previous one.
func TestALaterRecordIsMadeOfTheOneBefore(t *testing.T) {
	t.Parallel()
	w := setup(t)
	c := w.talk(8)
	w.closed(w.begin(w.overflow(c, 0, 3)), nil, "", "")
	before, _ := w.record(c, 3)
	w.closed(w.begin(w.overflow(c, 3, 6)), nil, "", "")
	material := w.model.asked[len(w.model.asked)-1]
	if len(material.Messages) != 13 || !strings.Contains(material.Messages[0].Content, "Goal: Look at each service") {
		t.Errorf("the model is shown %d messages, the first %q", len(material.Messages), material.Messages[0].Content)
	}
	got := w.closed(w.begin(w.overflow(c, 3, 7)), nil, "wall_clock", "it took too long")
	byRule, _ := w.record(c, 7)
	if len(got.Handles) != 1 || !strings.HasPrefix(byRule.Content, before.Content[:100]) {
		t.Errorf("the record by rule is %s", byRule.Content)
	}
}

func TestSpecAndResultOfABrokenRunAreErrors(t *testing.T) {
	t.Parallel()
	broken := run.Run{Ref: run.Ref{Run: "run_7"}, Spec: []byte("{"), Result: []byte("{")}
	if _, err := offload.SpecOf(broken); err == nil || !strings.Contains(err.Error(), "run run_7") {
		t.Errorf("spec: %v", err)
	}
	if _, err := offload.ResultOf(broken); err == nil || !strings.Contains(err.Error(), "run run_7") {
		t.Errorf("result: %v", err)
	}
	if _, err := offload.Input("key", broken); err == nil {
		t.Error("there is an input")
	}
}
