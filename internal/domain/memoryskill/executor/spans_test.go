package executor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/transcript"
)

func TestWindowsStartWhereTheyShould(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]int{512: {0}, 513: {0, 448}, 960: {0, 448}, 961: {0, 448, 896},
		2000: {0, 448, 896, 1344, 1792}} {
		var starts []int
		windows := Windows(n, 512, 64)
		for _, w := range windows {
			starts = append(starts, w.From)
		}
		if !reflect.DeepEqual(starts, want) || windows[len(windows)-1].To != n {
			t.Errorf("%d tokens: starts %v ends %d, want %v", n, starts, windows[len(windows)-1].To, want)
		}
	}
}

// The published vector, and invalid sizes.
func TestWindowsCoverWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, size, overlap int
		want             []Window
	}{
		{512, 512, 64, []Window{{0, 512}}}, {513, 512, 64, []Window{{0, 512}, {448, 513}}},
		{960, 512, 64, []Window{{0, 512}, {448, 960}}},
		{961, 512, 64, []Window{{0, 512}, {448, 960}, {896, 961}}},
		{2000, 512, 64, []Window{{0, 512}, {448, 960}, {896, 1408}, {1344, 1856}, {1792, 2000}}},
		{0, 512, 64, []Window{{0, 0}}}, {3, 2, 9, []Window{{0, 2}, {1, 3}}}, {3, 2, -1, []Window{{0, 2}, {2, 3}}},
		{3, 0, 0, []Window{{0, 1}, {1, 2}, {2, 3}}},
	} {
		if got := Windows(c.n, c.size, c.overlap); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d tokens by %d with %d shared: %v, want %v", c.n, c.size, c.overlap, got, c.want)
		}
	}
}

// No span crosses the end of a session, however short the sessions are. Unknown times end no
// session.
func TestSpansNeverCrossAPause(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	said := []transcript.Message{{Seq: 0, Content: "One.", Time: at(0)}, {Seq: 1, Content: "Two.", Time: at(30)},
		{Seq: 2, Content: "Three."}, {Seq: 3, Content: "Four.", Time: at(61)}, {Seq: 4, Content: "Five.", Time: at(62)}}
	of := func(how Spanning) (out []string) {
		for i, s := range Spans(said, how) {
			if s.Number != i {
				t.Errorf("span %d has number %d", i, s.Number)
			}
			out = append(out, fmt.Sprintf("%d-%d", s.FromSeq(), s.ToSeq()))
		}
		return out
	}
	if got := of(DefaultSpans()); !reflect.DeepEqual(got, []string{"0-2", "3-4"}) {
		t.Errorf("spans %v", got)
	}
	if got := of(Spanning{Tokens: 512}); !reflect.DeepEqual(got, []string{"0-4"}) {
		t.Errorf("without pauses: %v", got)
	}
	if got := of(Spanning{Tokens: 1, Pause: time.Hour}); len(got) != 5 {
		t.Errorf("of one token each: %v", got)
	}
}

// Together the spans contain every complete word with its speaker.
func TestSpansLoseNoWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("extraordinary remembrance ", 300) + "我们下周二去北京开会"
	said := []transcript.Message{{Seq: 4, Role: transcript.User, Name: "Ada", Content: "Hello there."},
		{Seq: 5, Role: transcript.Assistant, Content: long},
		{Seq: 6, Role: transcript.User, Name: "Ada", Content: "  "}}
	spans := Spans(said, DefaultSpans())
	if len(spans) < 3 || spans[0].FromSeq() != 4 || spans[0].ToSeq() != 5 || spans[len(spans)-1].FromSeq() != 5 {
		t.Fatalf("%d spans, the first of %d–%d", len(spans), spans[0].FromSeq(), spans[0].ToSeq())
	}
	if !strings.HasPrefix(spans[0].Text(), "Conversation:\nAda: Hello there.\nextraordinary") {
		t.Errorf("text %.60q", spans[0].Text())
	}
	seen := 0
	for i, s := range spans {
		if s.Number != i {
			t.Errorf("span %d has number %d", i, s.Number)
		}
		for _, w := range strings.Fields(s.Parts[len(s.Parts)-1].Text) {
			if w != "extraordinary" && w != "remembrance" && w != "我们下周二去北京开会" && !strings.Contains("我们下周二去北京开会", w) {
				t.Errorf("span %d has the broken word %q", i, w)
			}
		}
		seen += strings.Count(s.Text(), "extraordinary")
	}
	if seen < 300 || !strings.HasSuffix(spans[len(spans)-1].Text(), "北京开会") {
		t.Errorf("%d of 300 words", seen)
	}
	if whole := Spans(said[:1], DefaultSpans()); len(whole) != 1 || Spans(nil, DefaultSpans()) != nil {
		t.Errorf("%d spans of a short session", len(whole))
	}
}

// Each mode follows its own rule, and no span crosses the end of a session. Every span states the
// date of its session; spans of several turns state that they are a conversation.
func TestEachModeCutsByItsOwnRule(t *testing.T) {
	t.Parallel()
	at := func(day, minute int) time.Time { return time.Date(2024, 3, day, 9, minute, 0, 0, time.UTC) }
	said := []transcript.Message{
		{Seq: 0, Name: "Ada", Content: "One.", Time: at(1, 0)}, {Seq: 1, Name: "Ben", Content: "Two.", Time: at(1, 1)},
		{Seq: 2, Name: "Ada", Content: " \n", Time: at(1, 2)}, {Seq: 3, Name: "Ada", Content: "Three.", Time: at(1, 3)},
		{Seq: 4, Name: "Ben", Content: "Four.\n \nFive.", Time: at(2, 0)},
		{Seq: 5, Name: "Ada", Content: "Document 1: a\n\nb\nDocument 2: c", Time: at(2, 1)},
		{Seq: 6, Name: "Ben", Content: "Six.", Time: at(2, 2)},
	}
	for mode, want := range map[string][]string{
		Turn: {"Date: 2024-03-01|Ada: One.", "Date: 2024-03-01|Ben: Two.", "Date: 2024-03-01|Ada: Three.",
			"Date: 2024-03-02|Ben: Four.| |Five.", "Date: 2024-03-02|Ada: Document 1: a||b|Document 2: c",
			"Date: 2024-03-02|Ben: Six."},
		TurnPair: {"Date: 2024-03-01|Conversation:|Ada: One.|Ben: Two.", "Date: 2024-03-01|Conversation:|Ada: Three.",
			"Date: 2024-03-02|Conversation:|Ben: Four.| |Five.|Ada: Document 1: a||b|Document 2: c",
			"Date: 2024-03-02|Conversation:|Ben: Six."},
		FullSession: {"Date: 2024-03-01|Conversation:|Ada: One.|Ben: Two.|Ada: Three.",
			"Date: 2024-03-02|Conversation:|Ben: Four.| |Five.|Ada: Document 1: a||b|Document 2: c|Ben: Six."},
		Paragraph: {"Date: 2024-03-01|Ada: One.", "Date: 2024-03-01|Ben: Two.", "Date: 2024-03-01|Ada: Three.",
			"Date: 2024-03-02|Ben: Four.", "Date: 2024-03-02|Ben: Five.", "Date: 2024-03-02|Ada: Document 1: a||b",
			"Date: 2024-03-02|Ada: Document 2: c", "Date: 2024-03-02|Ben: Six."},
		FixedLength: {"Date: 2024-03-01|Conversation:|Ada: One.|Ben: Two.|Ada: Three.",
			"Date: 2024-03-02|Conversation:|Ben: Four.| |Five.", "Date: 2024-03-02|Conversation:|Ada: Document 1:",
			"Date: 2024-03-02|Conversation:|Ada: 1: a||b|Document",
			"Date: 2024-03-02|Conversation:|Ada: Document 2: c", "Date: 2024-03-02|Conversation:|Ada: c|Ben: Six."},
	} {
		messages := said
		if mode == FixedLength { // white space has the weight of a token there
			messages = slices.Delete(slices.Clone(said), 2, 3)
		}
		spans := Spans(messages, Spanning{Mode: mode, Tokens: 4, Overlap: 1, Pause: time.Hour})
		for i, s := range spans {
			if s.Number != i {
				t.Errorf("%s: span %d has number %d", mode, i, s.Number)
			}
			if i < len(want) && strings.ReplaceAll(s.Text(), "\n", "|") != want[i] {
				t.Errorf("%s, span %d: %q, want %q", mode, i, s.Text(), want[i])
			}
		}
		if len(spans) != len(want) {
			t.Errorf("%s: %d spans, want %d", mode, len(spans), len(want))
		}
	}
	if s := Spans([]transcript.Message{{Content: "Undated."}}, Spanning{Mode: Turn}); len(s) != 1 ||
		s[0].Text() != "Undated." {
		t.Errorf("without a time: %+v", s)
	}
}

// Windows keep every byte, in every script.
func TestWindowsCutBetweenWordsOnly(t *testing.T) {
	t.Parallel()
	text := "Ünïcode näïve 👩‍👩‍👧 " + strings.Repeat("数据库迁移完成 ", 7) + "Ende."
	got := ""
	for _, s := range Spans([]transcript.Message{{Content: text}}, Spanning{Mode: FixedLength, Tokens: 5}) {
		for _, p := range s.Parts {
			if !utf8.ValidString(p.Text) {
				t.Errorf("half a letter: %q", p.Text)
			}
			got += p.Text
		}
	}
	if squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }; squeeze(got) != squeeze(text) {
		t.Errorf("%q became %q", text, got)
	}
}

func TestAWayToCutThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []Spanning{{Mode: "sentence", Tokens: 1}, {Mode: FixedLength}, {Tokens: -1},
		{Mode: Turn, Overlap: -1}, {Mode: Turn, Pause: -1}, {Mode: FixedLength, Tokens: maxTokens + 1}} {
		if err := bad.Check(); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := (Spanning{Mode: "sentence"}).Check(); !strings.Contains(fault.From(err).Hint, "turn-pair") {
		t.Errorf("the hint names no mode: %v", err)
	}
	for _, mode := range Modes {
		if err := (Spanning{Mode: mode, Tokens: 1}).Check(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{memoryskill.TargetRecipe, memoryskill.PaperRecipe, memoryskill.CodeRecipe} {
		r, err := memoryskill.NewRecipe(name)
		if err != nil || !slices.Contains(Modes, r.Spans) ||
			(r.Spans == FullSession) == (name == memoryskill.TargetRecipe) {
			t.Errorf("recipe %s cuts by %q, %v", name, r.Spans, err)
		}
	}
}

// Conflicts between several spans are resolved in their order.
func TestPlansOfSeveralSpansAreMerged(t *testing.T) {
	t.Parallel()
	plan := func(actions ...ResolvedAction) []ResolvedAction { return actions }
	of := func(kind memoryskill.Action, memory, content string) ResolvedAction {
		return ResolvedAction{Action: Action{Type: kind, Content: content}, Memory: memory, Outcome: OK}
	}
	lost := of(memoryskill.Delete, "c", "")
	lost.Outcome = OutOfRange
	spans := [][]ResolvedAction{
		plan(of(memoryskill.Insert, "", "Tea at  four"), of(memoryskill.Update, "a", "old"),
			of(memoryskill.Update, "b", "first")),
		plan(of(memoryskill.Insert, "", "tea at four"), of(memoryskill.Delete, "b", ""), lost),
		plan(of(memoryskill.Update, "a", "new"), of(memoryskill.Delete, "b", ""), of(memoryskill.Update, "c", "kept"),
			of(memoryskill.Insert, "", "Coffee")),
	}
	Merge(spans...)
	want := [][]Outcome{{OK, Superseded, Superseded}, {Superseded, OK, OutOfRange}, {OK, Superseded, OK, OK}}
	for i, one := range spans {
		for j, r := range one {
			if r.Outcome != want[i][j] {
				t.Errorf("span %d, action %d: %s, want %s", i, j, r.Outcome, want[i][j])
			}
		}
	}
}
