package replystream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/service/replystream"
	"cairn/internal/testkit"
)

// memory stores chunks in order.
type memory struct {
	mu     sync.Mutex
	chunks []conversation.ReplyChunk
	puts   []time.Time
	steps  []conversation.ReplyStep
	fail   bool
}

func (m *memory) Steps(context.Context, run.Ref) ([]conversation.ReplyStep, error) {
	return slices.Clone(m.steps), nil
}

func (m *memory) PutChunks(_ context.Context, chunks []conversation.ReplyChunk) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail {
		return errors.New("the database is away")
	}
	m.chunks, m.puts = append(m.chunks, chunks...), append(m.puts, time.Now())
	return nil
}

func (m *memory) Chunks(_ context.Context, ref run.Ref, after conversation.ReplyPosition, max int) (
	out []conversation.ReplyChunk, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	later := func(a, b conversation.ReplyPosition) bool {
		if a.Step != b.Step {
			return a.Step > b.Step
		}
		if a.Attempt != b.Attempt {
			return a.Attempt > b.Attempt
		}
		return a.Seq > b.Seq
	}
	for _, c := range m.chunks {
		if c.Ref == ref && later(c.ReplyPosition, after) && len(out) < max {
			out = append(out, c)
		}
	}
	return out, nil
}

var ada = run.Ref{Workspace: 1, Run: "run_ada"}

func TestTextIsStoredAtOnceAndThenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		w := replystream.NewWriter(m, slog.New(slog.DiscardHandler))
		emit, began := w.Open(ada, 1, 1), time.Now()
		for range 100 {
			emit("word ")
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		text := ""
		for i, c := range m.chunks {
			if text += c.Text; c.Seq != i+1 {
				t.Errorf("chunk %d has number %d", i, c.Seq)
			}
		}
		if text != strings.Repeat("word ", 100) || len(m.puts) > 5 || m.puts[0].Sub(began) > 0 {
			t.Errorf("%d transactions, the first after %v, text %q", len(m.puts), m.puts[0].Sub(began), text)
		}
		emit(strings.Repeat("x", 4<<10)) // does not wait
		emit("y")
		synctest.Wait()
		if n := len(m.chunks); m.chunks[n-1].Text[0] != 'x' {
			t.Errorf("a large part waits: %q", m.chunks[n-1].Text)
		}
		other := w.Open(run.Ref{Workspace: 2, Run: "run_ben"}, 1, 1)
		other("first")
		synctest.Wait()
		if n := len(m.chunks); m.chunks[n-1].Text != "first" {
			t.Errorf("the first part of another reply waits behind %q", m.chunks[n-1].Text)
		}
		time.Sleep(time.Second)
	})
}

func TestAFailureOfTheStoreLosesOnlyChunks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{fail: true}
		w := replystream.NewWriter(m, slog.New(slog.DiscardHandler))
		emit := w.Open(ada, 1, 1)
		emit("It is ")
		time.Sleep(time.Second)
		m.mu.Lock()
		m.fail = false
		m.mu.Unlock()
		emit("raining.")
		time.Sleep(time.Second)
		r := replystream.NewReader(m)
		if got := all(t, r.Follow(ada, conversation.ReplyPosition{})); got != "" {
			t.Errorf("text with a gap was shown: %s", got)
		}
	})
}

// all returns the next deltas of a follower in a short form.
func all(t *testing.T, f *replystream.Follower) string {
	t.Helper()
	deltas, err := f.Next(t.Context())
	testkit.Must(t, err)
	return short(deltas)
}

func short(deltas []replystream.Delta) string {
	var out []string
	for _, d := range deltas {
		sign := "+"
		if d.Reset {
			sign = "="
		}
		out = append(out, fmt.Sprintf("%d%s%s", d.Step, sign, d.Text))
	}
	return strings.Join(out, " ")
}

func TestAnotherAttemptRepeatsNothing(t *testing.T) {
	t.Parallel()
	m := &memory{}
	r := replystream.NewReader(m)
	f := r.Follow(ada, conversation.ReplyPosition{})
	for _, c := range []struct {
		step, attempt, seq int
		text, want         string
	}{
		{1, 1, 1, "Let me look.", "1+Let me look."},
		{2, 1, 1, "It is", "2+It is"},
		{2, 1, 2, " raining", "2+ raining"},
		{2, 2, 1, "It", ""}, // the worker died, and another one asks again
		{2, 2, 2, " is rain", ""},
		{2, 2, 3, "ing hard", "2+ hard"},
		{2, 3, 1, "The sun", "2=The sun"}, // another text
		{2, 3, 2, " shines", "2+ shines"},
		{2, 3, 4, "!", ""}, // chunk 3 is lost
		{2, 3, 5, "?", ""},
		{2, 4, 1, "The sun shines on", "2+ on"},
		{3, 1, 1, "Done", "3+Done"},
	} {
		m.chunks = append(m.chunks, conversation.ReplyChunk{Ref: ada, Text: c.text,
			ReplyPosition: conversation.ReplyPosition{Step: c.step, Attempt: c.attempt, Seq: c.seq}})
		if got := all(t, f); got != c.want {
			t.Errorf("chunk %d.%d.%d: %q, want %q", c.step, c.attempt, c.seq, got, c.want)
		}
	}
	for seen, want := range map[conversation.ReplyPosition]string{
		{}:                                "1+Let me look. 2+It is 2+ raining 2+ hard 2=The sun 2+ shines 2+ on 3+Done",
		{Step: 2, Attempt: 1, Seq: 1}:     "2+ raining 2+ hard 2=The sun 2+ shines 2+ on 3+Done",
		{Step: 2, Attempt: 2, Seq: 3}:     "2=The sun 2+ shines 2+ on 3+Done",
		{Step: 3, Attempt: 1, Seq: 1}:     "",
		{Step: 3, Attempt: 1, Seq: 100}:   "",
		{Step: 100, Attempt: 1, Seq: 100}: "",
	} {
		if got := all(t, r.Follow(ada, seen)); got != want {
			t.Errorf("after %+v: %q, want %q", seen, got, want)
		}
	}
}

// At the end, the client has the stored text, whatever chunks it got.
func TestTheEndCompletesTheText(t *testing.T) {
	t.Parallel()
	one := []conversation.ReplyStep{{Number: 1, Text: "Let me look."}}
	two := append(slices.Clone(one), conversation.ReplyStep{Number: 2, Text: "Tea."})
	for name, c := range map[string]struct {
		chunks []string // of step 1
		steps  []conversation.ReplyStep
		reply  string
		want   string
	}{
		"nothing was seen":     {nil, two, "Tea.", "1+Let me look. 2+Tea."},
		"a suffix is missing":  {[]string{"Let ", "me"}, one, "Let me look.", "1+ look."},
		"space around it":      {[]string{" Let me ", "look.\n"}, one, "Let me look.", ""},
		"a later step":         {[]string{"Let me look."}, two, "Tea.", "2+Tea."},
		"a notice follows":     {[]string{"Let me look."}, one, "Let me look.\nSaved.", "1+\nSaved."},
		"another text":         {[]string{"I will"}, one, "Let me look.", "1=Let me look."},
		"no response":          {nil, nil, "I cannot answer.", "1+I cannot answer."},
		"a cut response":       {[]string{"Let"}, nil, "I cannot answer.", "1=I cannot answer."},
		"no response, no text": {nil, nil, "", ""},
	} {
		m := &memory{steps: c.steps}
		for i, text := range c.chunks {
			m.chunks = append(m.chunks, conversation.ReplyChunk{Ref: ada, Text: text,
				ReplyPosition: conversation.ReplyPosition{Step: 1, Attempt: 1, Seq: i + 1}})
		}
		r := replystream.NewReader(m)
		f := r.Follow(ada, conversation.ReplyPosition{})
		all(t, f)
		deltas, err := f.Finish(t.Context(), c.reply)
		testkit.Must(t, err)
		if got := short(deltas); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The chunks that a client has seen may be deleted when it comes back.
func TestAClientThatComesBackLateGetsTheWholeText(t *testing.T) {
	t.Parallel()
	m := &memory{steps: []conversation.ReplyStep{{Number: 1, Text: "It is raining."}}}
	r := replystream.NewReader(m)
	f := r.Follow(ada, conversation.ReplyPosition{Step: 1, Attempt: 1, Seq: 2})
	deltas, err := f.Finish(t.Context(), "It is raining.")
	testkit.Must(t, err)
	if got := short(deltas); got != "1=It is raining." {
		t.Errorf("%q", got)
	}
}
