package distill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

// long is a conversation of n turns, each of about 120 tokens.
func long(n int) transcript.Conversation {
	c := transcript.Conversation{ID: fmt.Sprintf("long-%d", n)}
	for i := range n {
		for _, m := range []transcript.Message{
			{Role: transcript.User, Content: fmt.Sprintf("Request %d. ", i) + strings.Repeat("Look at the order. ", 8)},
			{Role: transcript.Tool, Content: fmt.Sprintf("result %d: %s", i, strings.Repeat("all well ", 20))},
			{Role: transcript.Assistant, Content: fmt.Sprintf("Request %d is done.", i)},
		} {
			m.Seq = len(c.Messages)
			c.Messages = append(c.Messages, m)
		}
	}
	return c
}

// everything makes one task of all messages of each window, under the name of the open task.
func everything(m prompt.Material) (string, error) {
	name := "Orders"
	if len(m.OpenTasks) > 0 {
		name = m.OpenTasks[0].Name
	}
	return fmt.Sprintf(`{"tasks":[{"task_name":%q,"message_indices":[[%d,%d]],"query":"Look at orders",`+
		`"outcome":"success","proof":[1],"open":true}]}`, name, m.Messages[0].Index,
		m.Messages[len(m.Messages)-1].Index), nil
}

func judged(change ...func(*distill.Spec)) func(*distill.Request) {
	return func(r *distill.Request) {
		r.Spec.Quality = true
		for _, f := range change {
			f(&r.Spec)
		}
	}
}

// Requests about one window begin with the same system message and the same first part.
func TestRequestsAboutAWindowBeginWithTheSameBytes(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.usage = llm.Usage{Input: 10_000, Cached: 8_000}
	ref, key := d.written(d.request(talk("Checkout"), judged()))
	testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
	first := d.model.requests["segment"]
	for _, stage := range []string{"extract", "judge"} {
		r := d.model.requests[stage]
		if r.System != first.System || r.Messages[0].Prefix != first.Messages[0].Prefix ||
			r.CacheKey != first.CacheKey {
			t.Errorf("%s: another prefix: %q", stage, r.Messages[0].Prefix)
		}
	}
	if len(first.CacheKey) != 32 || !strings.Contains(first.Messages[0].Prefix, "answers 502") || !first.JSON ||
		first.Schema != nil {
		t.Errorf("segment: %+v", first)
	}
	files := d.model.requests["files"]
	if files.System != first.System || files.Messages[0].Prefix != "" || files.CacheKey != "" {
		t.Errorf("files: %+v", files)
	}
}

// Without reported hits, the judge sees what the draft cites, and a draft the messages of its task.
func TestEndpointWithoutACacheGetsOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage         llm.Usage
		cache         string
		shared, judge bool
	}{
		"reports no hits":           {llm.Usage{Input: 10_000}, distill.CacheUnknown, false, false},
		"is said to cache, and not": {llm.Usage{Input: 10_000}, distill.CacheExpected, false, false},
		"reports hits":              {llm.Usage{Input: 10_000, Cached: 9_000}, distill.CacheUnknown, true, true},
		"writes and does not read":  {llm.Usage{Input: 10_000, Written: 9_000}, distill.CacheUnknown, true, false},
		"hits are not used":         {llm.Usage{Input: 10_000, Cached: 9_000}, distill.CacheOff, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.model.usage = c.usage
			two := talk("Checkout")
			for _, m := range talk("Payments").Messages {
				m.Seq += 6
				two.Messages = append(two.Messages, m)
			}
			d.model.says("segment", `{"tasks":[{"task_name":"One","message_indices":[[0,5]]},
				{"task_name":"Two","message_indices":[[6,11]]}]}`)
			ref := d.accept(d.request(two, judged(func(s *distill.Spec) { s.Cache = c.cache }))).Ref
			divided, err := d.Segment(t.Context(), pgtest.RunRef(ref))
			testkit.Must(t, err)
			if c.cache == distill.CacheExpected { // the first draft shows the window, and its reply no hit
				_, err := d.Draft(t.Context(), pgtest.TaskRef(ref, divided.Tasks[0]))
				testkit.Must(t, err)
			}
			_, err = d.Draft(t.Context(), pgtest.TaskRef(ref, divided.Tasks[1]))
			testkit.Must(t, err)
			testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, divided.Tasks[1])))
			extract, judge := d.model.requests["extract"], d.model.requests["judge"]
			if shows := strings.Contains(extract.Messages[0].Prefix, "Checkout answers"); shows != c.shared {
				t.Errorf("the draft shows the other task: %t", shows)
			}
			if got := d.model.last["extract"].Messages; len(got) != 6 || got[0].Index != 6 {
				t.Errorf("the draft is about %+v", got)
			}
			if shows := judge.Messages[0].Prefix != ""; shows != c.judge {
				t.Errorf("the judge sees the window: %t", shows)
			}
		})
	}
}

// A task that is longer than a window is drafted from notes, and no request exceeds 75 % of the context.
func TestTaskLongerThanAWindowIsDraftedFromCitedNotes(t *testing.T) {
	t.Parallel()
	const context = 16_000
	d := setup(t)
	d.model.answers["segment"] = everything
	d.model.answers["notes"] = func(m prompt.Material) (string, error) {
		return fmt.Sprintf(`{"findings":[{"text":"Look at the order first","evidence":[%d,99999]},{"text":" "}]}`,
			m.Messages[0].Index), nil
	}
	d.model.says("extract", draft("Look first", with("evidence", []int{0, 3})))
	c := long(150)
	ref, key := d.written(d.request(c, judged(func(s *distill.Spec) { s.Limits.Context = context })))
	testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
	windows := d.model.counts["segment"]
	if windows < 3 || d.model.counts["notes"] != windows || d.model.counts["extract"] != 1 {
		t.Errorf("asked %s", d.model.asked())
	}
	material := d.model.last["extract"]
	if len(material.Findings) != windows || len(material.Messages) != 0 ||
		!slices.Equal(material.Findings[0].Evidence, []int{0}) || material.Findings[1].Evidence[0]%3 != 0 {
		t.Errorf("drafted from %+v", material)
	}
	for _, r := range d.model.all {
		m := r.Messages[0]
		if n := lang.MaxTokens(r.System + m.Prefix + m.Content); n > context*3/4 {
			t.Errorf("%s: %d tokens", r.Label.Stage, n)
		}
	}
	if task := d.report(ref).Tasks[0]; task.Messages != len(c.Messages) {
		t.Errorf("the task has %d messages of %d", task.Messages, len(c.Messages))
	}
}

// A division that is interrupted after some windows goes on with the next one.
func TestDivisionGoesOnWithTheWindowsThatAreNotPaid(t *testing.T) {
	t.Parallel()
	d := setup(t)
	n := 0
	d.model.answers["segment"] = func(m prompt.Material) (string, error) {
		if n++; n == 2 {
			return "", &llm.Error{Class: llm.Retryable, Status: 503, Message: "busy"}
		}
		return everything(m)
	}
	ref := d.accept(d.request(long(150), judged(func(s *distill.Spec) { s.Limits.Context = 16_000 }))).Ref
	if _, err := d.Segment(t.Context(), pgtest.RunRef(ref)); err == nil {
		t.Fatal("the division did not fail")
	}
	divided, err := d.Segment(t.Context(), pgtest.RunRef(ref))
	if err != nil || len(divided.Tasks) != 1 {
		t.Fatalf("%q, %v", divided.Tasks, err)
	}
	first := d.model.all[0].Messages[0].Prefix
	for _, r := range d.model.all[1:] {
		if r.Messages[0].Prefix == first {
			t.Error("the first window was paid twice")
		}
	}
	if last := d.model.last["segment"]; len(last.OpenTasks) != 1 || last.OpenTasks[0].Name != "Orders" ||
		last.Messages[0].Role != "user" {
		t.Errorf("the last window: %+v", last)
	}
}
