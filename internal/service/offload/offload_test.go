package offload_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/offload"
	"cairn/internal/testkit"
)

func TestOffloadPutsBigResultsAwayAndReloadGivesThemBack(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ms := thread(4)
	out := w.shorten(w.request(ms, compacting()))
	if out.Mode != workingmemory.ByCompact || out.Degraded || len(out.Away) != 3 ||
		out.TokensAfter >= out.TokensBefore {
		t.Fatalf("mode %q, %d put away, %d of %d tokens", out.Mode, len(out.Away), out.TokensAfter, out.TokensBefore)
	}
	if strings.Contains(out.Messages[2].Content, "8000") || out.Messages[14].Content != ms[14].Content {
		t.Errorf("an old result is still there, or the last one is not: %s", texts(out.Messages))
	}
	a := out.Away[0]
	if a.Kind != workingmemory.Text || a.Label != "result of read_log" || a.Chars != len(ms[2].Content) {
		t.Errorf("put away %+v", a)
	}
	back, err := w.Reload(t.Context(), w.A.ID, out.Messages)
	testkit.Must(t, err)
	if texts(back) != texts(ms) {
		t.Errorf("given back are %s", texts(back))
	}
	if len(w.model.asked) != 0 || len(w.temporal.started) != 0 {
		t.Error("a model was asked")
	}
}

func TestOffloadLeavesAShortThreadAlone(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ms := thread(4)
	for _, mode := range workingmemory.Modes {
		out := w.shorten(w.request(ms, workingmemory.Options{Mode: mode}))
		if out.Mode != "" || out.Degraded || len(out.Away) != 0 || out.Run != "" || texts(out.Messages) != texts(ms) {
			t.Errorf("%s: %+v", mode, out)
		}
	}
	if rows := w.Rows("offload_blobs", "runs"); rows != "offload_blobs 0, runs 0" {
		t.Errorf("it leaves %s", rows)
	}
}

func TestOffloadRepeatedPutsNothingAwayTwice(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first := w.shorten(w.request(thread(4), compacting()))
	for _, ms := range [][]transcript.Message{thread(4), first.Messages} { // sent again; and shortened once more
		again := w.shorten(w.request(ms, compacting()))
		if texts(again.Messages) != texts(first.Messages) {
			t.Errorf("first %s, then %s", texts(first.Messages), texts(again.Messages))
		}
	}
	if rows := w.Rows("offload_blobs", "offload_uses"); rows != "offload_blobs 3, offload_uses 3" {
		t.Errorf("it leaves %s", rows)
	}
}

func TestOffloadCompressesWhatCompactionCannot(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ms := thread(6)
	o := compressing()
	o.Mode, o.ToolTokens = workingmemory.ByAuto, 100_000 // no result is that big
	out := w.shorten(w.request(ms, o))
	if out.Mode != workingmemory.ByCompress || out.Degraded || out.Run == "" || out.TokensAfter >= out.TokensBefore {
		t.Fatalf("mode %q, degraded %q, %d of %d tokens", out.Mode, out.Reason, out.TokensAfter, out.TokensBefore)
	}
	groups := len(out.Away)
	if groups < 2 || len(w.model.asked) != groups || len(out.Messages) != groups+4 {
		t.Errorf("%d groups, %d asked, %d messages", groups, len(w.model.asked), len(out.Messages))
	}
	if texts(out.Messages[groups:]) != texts(ms[20:]) {
		t.Errorf("the last turn is %s", texts(out.Messages[groups:]))
	}
	var all []transcript.Message
	for i, a := range out.Away {
		record := out.Messages[i].Content
		if !strings.Contains(record, a.Handle) || !strings.Contains(record, "region north") {
			t.Errorf("a record says %q", record)
		}
		c, err := w.Fetch(t.Context(), w.A.ID, workingmemory.Where{Handle: a.Handle})
		testkit.Must(t, err)
		all = append(all, c.Messages...)
	}
	if texts(all) != texts(ms[:20]) {
		t.Errorf("put away are %s", texts(all))
	}
}

func TestOffloadRepeatedReturnsTheRecordsAndPaysOnce(t *testing.T) {
	t.Parallel()
	for what, id := range map[string]string{"with an id": "r1", "without one": ""} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			r := w.request(thread(4), compressing())
			r.ID = id
			first := w.shorten(r)
			paid := len(w.model.asked)
			again := w.shorten(r)
			if first.Degraded || again.Run != first.Run || texts(again.Messages) != texts(first.Messages) {
				t.Errorf("first %+v, then %+v", first, again)
			}
			if len(w.model.asked) != paid || len(w.temporal.started) != 1 || paid == 0 {
				t.Errorf("asked %d and then %d times; started %v", paid, len(w.model.asked), w.temporal.started)
			}
		})
	}
}

func TestOffloadRefusesARequestIDForOtherMessages(t *testing.T) {
	t.Parallel()
	w := setup(t)
	r := w.request(thread(4), compressing())
	r.ID = "r1"
	w.shorten(r)
	paid := len(w.model.asked)
	r.Messages = thread(5)
	_, err := w.Service.Offload(t.Context(), r)
	wants(t, "other messages", err, fault.OpReused)
	if n := w.Number("select count(*) from runs"); n != 1 || len(w.model.asked) != paid {
		t.Errorf("%d runs, asked %d times after %d", n, len(w.model.asked), paid)
	}
}

func TestOffloadWithoutTemporalGivesTheMessagesBack(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.Starter = nil
	ms := thread(4)
	out := w.shorten(w.request(ms, compressing()))
	if !out.Degraded || !strings.HasPrefix(out.Reason, "unavailable:") || texts(out.Messages) != texts(ms) {
		t.Errorf("%+v", out)
	}
	if rows := w.Rows("offload_blobs", "runs"); rows != "offload_blobs 0, runs 0" {
		t.Errorf("it leaves %s", rows)
	}
}

func TestOffloadGoesOnWithTheRunOfACallerWhoDidNotWait(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ms := thread(4)
	r := w.request(ms, compressing())
	w.temporal.asleep, r.Wait = true, 0
	first := w.shorten(r)
	if !first.Degraded || !strings.HasPrefix(first.Reason, "timeout:") || first.Run == "" ||
		texts(first.Messages) != texts(ms) {
		t.Fatalf("without a worker: %+v", first)
	}
	if n := w.Number("select count(*) from outbox where kind = 'drive'"); n != 1 {
		t.Errorf("%d duties to drive the run", n)
	}
	w.temporal.asleep, r.Wait = false, time.Minute
	again := w.shorten(r)
	if again.Degraded || again.Run != first.Run || again.Mode != workingmemory.ByCompress {
		t.Errorf("sent again: %+v", again)
	}
	if n := w.Number("select count(*) from outbox where kind = 'drive'"); n != 0 {
		t.Errorf("%d duties to drive a run that has ended", n)
	}
}

func TestOffloadSaysWhyAWorkflowDidNotStart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.temporal.broken = fault.New(fault.Unavailable, "Temporal is away", "")
	ms := thread(4)
	out := w.shorten(w.request(ms, compressing()))
	if !out.Degraded || out.Reason != "unavailable: Temporal is away" || texts(out.Messages) != texts(ms) {
		t.Errorf("%+v", out)
	}
	w.temporal.broken = nil
	if again := w.shorten(w.request(ms, compressing())); again.Degraded || again.Run != out.Run {
		t.Errorf("sent again: %+v", again)
	}
}

// A request with an ID returns the same result. One without an ID is tried again.
func TestOffloadTriesAgainWhatAModelDidNotManage(t *testing.T) {
	t.Parallel()
	for id, same := range map[string]bool{"r1": true, "": false} {
		t.Run("id "+id, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.model.says("Sorry, I cannot do that.")
			ms := thread(4)
			r := w.request(ms, compressing())
			r.ID = id
			first := w.shorten(r)
			if !first.Degraded || !strings.HasPrefix(first.Reason, "model_invalid:") || len(first.Away) != 0 ||
				texts(first.Messages) != texts(ms) {
				t.Fatalf("%+v", first)
			}
			w.model.answer = recorded
			again := w.shorten(r)
			if again.Degraded != same || (again.Run == first.Run) != same {
				t.Errorf("first %+v, then %+v", first, again)
			}
		})
	}
}

func TestOffloadRefusesRecordsThatAreNoShorter(t *testing.T) {
	t.Parallel()
	w := setup(t)
	// The record is shorter than its messages, but not with its frame.
	ms := []transcript.Message{{Role: transcript.User, Content: "Look at service 7 in region north, please."},
		{Seq: 1, Role: transcript.User, Content: "And now?"}}
	w.model.says(`{"goal":"service 7","key_facts":["north"],"recent_actions":[],"pending":[]}`)
	out := w.shorten(w.request(ms, compressing()))
	if !out.Degraded || !strings.Contains(out.Reason, "not shorter") || out.Mode != "" ||
		texts(out.Messages) != texts(ms) {
		t.Errorf("%+v", out)
	}
}

func TestOffloadChecksWhatItIsGiven(t *testing.T) {
	t.Parallel()
	w := setup(t)
	call := func(id string) transcript.Message {
		return transcript.Message{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: id, Name: "x"}}}
	}
	tooMany := make([]transcript.Message, offload.MaxMessages+1)
	for what, change := range map[string]func(*offload.Request){
		"no messages":           func(r *offload.Request) { r.Messages = nil },
		"too many messages":     func(r *offload.Request) { r.Messages = tooMany },
		"an unknown mode":       func(r *offload.Request) { r.Options.Mode = "zip" },
		"a negative threshold":  func(r *offload.Request) { r.Options.TotalTokens = -5 },
		"no time to live":       func(r *offload.Request) { r.TTL = 0 },
		"too long a life":       func(r *offload.Request) { r.TTL = offload.MaxTTL + time.Second },
		"a long session":        func(r *offload.Request) { r.Session = strings.Repeat("x", 201) },
		"control characters":    func(r *offload.Request) { r.Session = "a\u0007b" },
		"a call without an id":  func(r *offload.Request) { r.Messages = append(r.Messages, call("")) },
		"a call's id twice":     func(r *offload.Request) { r.Messages = append(r.Messages, call("x"), call("x")) },
		"the result of no call": func(r *offload.Request) { r.Messages[2].ToolCallID = "unknown" },
	} {
		r := w.request(thread(4), compacting())
		change(&r)
		_, err := w.Service.Offload(t.Context(), r)
		wants(t, what, err, fault.InvalidArgument)
	}
	if rows := w.Rows("offload_blobs", "runs"); rows != "offload_blobs 0, runs 0" {
		t.Errorf("it leaves %s", rows)
	}
}

func TestCompressPaysOnceForAGroup(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ref := w.started(4)
	for range 2 {
		if out, err := w.Compress(t.Context(), groupOf(ref, 0)); out.Reason != "" || err != nil {
			t.Errorf("code %q: %v", out.Reason, err)
		}
	}
	if len(w.model.asked) != 1 {
		t.Errorf("asked %d times", len(w.model.asked))
	}
	for _, group := range []int{-1, 99} {
		_, err := w.Compress(t.Context(), groupOf(ref, group))
		wants(t, "an unknown group", err, fault.InvalidArgument)
	}
	none := ref
	none.Run = "run_00000000000000000000000000"
	_, err := w.Compress(t.Context(), groupOf(none, 0))
	wants(t, "an unknown run", err, fault.NotFound)
}

func TestCompressSaysWhyThereIsNoRecord(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ref := w.started(8)
	w.model.says("no JSON")
	out, err := w.Compress(t.Context(), groupOf(ref, 0))
	if out.Reason != "model_invalid" || err != nil || len(w.model.asked) != 2 {
		t.Errorf("no JSON: %q after %d requests: %v", out.Reason, len(w.model.asked), err)
	}
	w.model.fails(llm.Fatal)
	if out, err := w.Compress(t.Context(), groupOf(ref, 1)); out.Reason != "model_rejected" || err != nil {
		t.Errorf("rejected: %q, %v", out.Reason, err)
	}
	w.model.fails(llm.Retryable)
	var failed *llm.Error
	if out, err := w.Compress(t.Context(), groupOf(ref, 2)); out.Reason != "" || !errors.As(err, &failed) {
		t.Errorf("worth another try: %q, %v", out.Reason, err)
	}
	w.Exec("update offload_blobs set expires_at = now() - interval '1 second'")
	if out, err := w.Compress(t.Context(), groupOf(ref, 3)); out.Reason != "not_found" || err != nil {
		t.Errorf("expired: %q, %v", out.Reason, err)
	}
}

func TestCompressAsksWithLessWhatWasTooLong(t *testing.T) {
	t.Parallel()
	w := setup(t)
	r := w.request(thread(8), compressing())
	r.Options.GroupTokens, r.Spec.Limits.MaterialTokens = 2000, 800
	w.model.fails(llm.ContextLength)
	long := 0
	size := func(m prompt.Material) (n int) {
		for _, one := range m.Messages {
			n += len(one.Content)
		}
		return n
	}
	refuse := w.model.answer
	w.model.answer = func(m prompt.Material) (string, error) {
		if long == 0 {
			long = size(m)
			return refuse(m)
		}
		return recorded(m)
	}
	out := w.shorten(r)
	if out.Degraded || len(w.model.asked) < 2 {
		t.Fatalf("asked %d times: %+v", len(w.model.asked), out)
	}
	if short := size(w.model.asked[1]); short >= long {
		t.Errorf("%d characters were too long, then it was asked with %d", long, short)
	}
}

func TestAwaitGivesTheResultOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ref := w.started(4)
	_, err := w.Await(t.Context(), pgtest.RunRef(ref))
	wants(t, "before the end", err, fault.Unavailable)
	closed := w.close(ref, nil, "", "")
	for range 2 {
		got, err := w.Await(t.Context(), pgtest.RunRef(ref))
		if err != nil || got.Degraded || got.Groups != len(closed.Records) || got.Groups == 0 ||
			got.Tokens != closed.Tokens {
			t.Errorf("closed with %+v, awaited %+v, %v", closed, got, err)
		}
	}
	ref.Run = "run_00000000000000000000000000"
	_, err = w.Await(t.Context(), pgtest.RunRef(ref))
	wants(t, "an unknown run", err, fault.NotFound)
}

func TestCloseRepeatedKeepsTheFirstEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ref := w.started(4)
	first := w.close(ref, nil, "wall_clock", "it took too long")
	if first.Degraded != "wall_clock: it took too long" || len(first.Records) != 0 || len(w.model.asked) != 0 {
		t.Errorf("closed with %+v after %d requests", first, len(w.model.asked))
	}
	again := w.close(ref, nil, "", "")
	if again.Degraded != first.Degraded {
		t.Errorf("closed again with %+v", again)
	}
	if out, err := w.Compress(t.Context(), groupOf(ref, 0)); out.Reason != "" || err != nil || len(w.model.asked) != 0 {
		t.Errorf("a group of a run that has ended: %q, %v", out.Reason, err)
	}
	ref.Run = "run_00000000000000000000000000"
	_, err := w.Close(t.Context(), contract.CloseOffloadInput{RunRef: pgtest.RunRef(ref)})
	wants(t, "an unknown run", err, fault.NotFound)
}

func TestCloseMakesNoRecordsWhenAGroupHasNone(t *testing.T) {
	t.Parallel()
	w := setup(t)
	ref := w.started(8)
	got := w.close(ref, []string{"", "model_rejected"}, "", "")
	if got.Degraded != "model_rejected" || len(got.Records) != 0 || len(w.model.asked) != 0 {
		t.Errorf("closed with %+v after %d requests", got, len(w.model.asked))
	}
	if n := w.Number("select count(*) from runs where outcome = 'completed_partial'"); n != 1 {
		t.Errorf("%d runs have ended in part", n)
	}
}
