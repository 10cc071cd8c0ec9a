package reflection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
)

// said makes messages of a conversation, a turn of two every minute.
func said(conversation int64, from time.Time, turns int, text string) (out []reflection.Message) {
	for i := range turns {
		at := from.Add(time.Duration(i) * time.Minute)
		out = append(out,
			reflection.Message{Conversation: conversation, Turn: i + 1, Said: at, Human: true,
				Message: transcript.Message{Seq: 2 * i, Role: transcript.User, Content: text}},
			reflection.Message{Conversation: conversation, Turn: i + 1, Said: at, Human: true,
				Message: transcript.Message{Seq: 2*i + 1, Role: transcript.Assistant, Content: "Noted."}})
	}
	return out
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Every message has one place, under one index, in a part that begins with a turn.
func TestADayIsDividedBetweenTurns(t *testing.T) {
	t.Parallel()
	messages := append(said(1, noon, 40, strings.Repeat("word ", 700)), said(2, noon, 3, "short")...)
	spans, all := divide(messages, time.UTC)
	if !all || parts(spans) < 2 || parts(spans) > maxParts {
		t.Fatalf("%d parts, all %v", parts(spans), all)
	}
	seen := map[string]int{}
	for i, m := range messages {
		n := index(spans, m.Conversation, m.Seq)
		s, seq, found := cited(spans, n)
		if !found || s.Conversation != m.Conversation || seq != m.Seq || n != i+1 {
			t.Errorf("message %d of conversation %d has the index %d, which stands for %d of %d", m.Seq, m.Conversation,
				n, seq, s.Conversation)
		}
		seen[fmt.Sprint(s.Part, m.Role, m.Seq == s.FromSeq)]++
	}
	for part := range parts(spans) {
		if first := inPart(spans, part)[0]; first.FromSeq%2 != 0 {
			t.Errorf("part %d begins within a turn, at %d", part, first.FromSeq)
		}
	}
	if _, _, found := cited(spans, len(messages)+1); found {
		t.Error("an index that nothing has is found")
	}
}

func TestAMessageBelongsToTheLocalDateOnWhichItWasSaid(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	spans, _ := divide(said(1, time.Date(2026, 3, 1, 15, 59, 0, 0, time.UTC), 2, "hello"), shanghai)
	if len(spans) != 2 || spans[0].Date != "2026-03-01" || spans[1].Date != "2026-03-02" || spans[1].FromSeq != 2 {
		t.Errorf("divided into %+v", spans)
	}
}

func TestWhatIsMoreThanARunTakesUpIsLeft(t *testing.T) {
	t.Parallel()
	if spans, all := divide(said(1, noon, maxTurns+1, "hello"), time.UTC); all ||
		spans[len(spans)-1].ToSeq != 2*maxTurns-1 {
		t.Errorf("all %v, up to %d", all, spans[len(spans)-1].ToSeq)
	}
	if spans, all := divide(said(1, noon, 300, strings.Repeat("word ", 900)), time.UTC); all ||
		parts(spans) != maxParts {
		t.Errorf("all %v, in %d parts", all, parts(spans))
	}
}

// A part ends with a response that calls nothing, or with its share of them.
func TestPartsFollowFromResponses(t *testing.T) {
	t.Parallel()
	p := PinnedReflection{Spans: []Span{{Part: 0}, {Part: 1}, {Part: 2}}}
	call := run.Step{Calls: []run.ToolCall{{Tool: "note_append"}}}
	text := run.Step{Content: "Nothing more."}
	for name, c := range map[string]struct {
		steps       []run.Step
		part, since int
	}{
		"in the beginning":          {nil, 0, 0},
		"while it calls":            {[]run.Step{call, call}, 0, 0},
		"when it is through":        {[]run.Step{call, text}, 1, 2},
		"an empty response is none": {[]run.Step{call, {}}, 0, 0},
		"after its share":           {[]run.Step{call, call, call, call, call}, 1, 5},
		"the last goes on":          {[]run.Step{text, text, text, call}, 2, 2},
	} {
		w := agentrun.RunView{}
		w.Spec.Budget.Max = 15
		for i, s := range c.steps {
			s.N = i + 1
			w.Steps = append(w.Steps, s)
		}
		if part, since := reached(w, p); part != c.part || since != c.since {
			t.Errorf("%s: part %d since response %d, want %d since %d", name, part, since, c.part, c.since)
		}
	}
}

func TestWhatWasRecalledIsNoNews(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<memory-context>\nlikes ships\n</memory-context>\nhello": "hello",
		"a <relevant_memories kind=\"x\">b</relevant_memories> c": "a  c",
		"I have a good memory of the memories of it":              "I have a good memory of the memories of it",
		"<MEMORY>x</MEMORY>y":                                     "y",
		"the <b>memory</b> card costs 5 < 6 euros":                "the <b>memory</b> card costs 5 < 6 euros",
	} {
		if got := forget(transcript.Message{Role: transcript.User, Content: text}).Content; got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := forget(transcript.Message{Role: transcript.Tool, Name: "memory_search", Content: "ships"}).
		Content; got == "ships" {
		t.Error("the result of a search is told")
	}
}

func TestNotesAreScoredByHowTheyWereRecalled(t *testing.T) {
	t.Parallel()
	best := reflection.Recall{Relevance: 1, Recalls: 20, Queries: 9, Days: 9,
		Note: memory.Entry{Content: strings.Repeat("x", 200)}}
	if s := best.Score(); s < 0.999 || s > 1.001 {
		t.Errorf("the most is %v", s)
	}
	for name, worse := range map[string]func(*reflection.Recall){
		"relevance": func(r *reflection.Recall) { r.Relevance = 0.2 }, "frequency": func(r *reflection.Recall) {
			r.Recalls = 2
		}, "queries": func(r *reflection.Recall) { r.Queries = 1 },
		"days": func(r *reflection.Recall) { r.Days = 1 }, "age": func(r *reflection.Recall) {
			r.Age = 2 * reflection.HalfLife
		}, "length": func(r *reflection.Recall) { r.Note.Content = "x" }} {
		r := best
		if worse(&r); r.Score() >= best.Score() {
			t.Errorf("%s counts nothing: %v", name, r.Score())
		}
	}
}
