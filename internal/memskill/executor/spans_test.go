package executor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/internal/transcript"
)

func TestWindowsStartWhereTheyShould(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]int{512: {0}, 513: {0, 448}, 960: {0, 448}, 961: {0, 448, 896}, 2000: {0, 448, 896, 1344, 1792}} {
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

// The published vector to its last number, and sizes that make no sense.
func TestWindowsCoverWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, size, overlap int
		want             []Window
	}{
		{512, 512, 64, []Window{{0, 512}}}, {513, 512, 64, []Window{{0, 512}, {448, 513}}}, {960, 512, 64, []Window{{0, 512}, {448, 960}}},
		{961, 512, 64, []Window{{0, 512}, {448, 960}, {896, 961}}}, {2000, 512, 64, []Window{{0, 512}, {448, 960}, {896, 1408}, {1344, 1856}, {1792, 2000}}},
		{0, 512, 64, []Window{{0, 0}}}, {3, 2, 9, []Window{{0, 2}, {1, 3}}}, {3, 2, -1, []Window{{0, 2}, {2, 3}}}, {3, 0, 0, []Window{{0, 1}, {1, 2}, {2, 3}}},
	} {
		if got := Windows(c.n, c.size, c.overlap); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d tokens by %d with %d shared: %v, want %v", c.n, c.size, c.overlap, got, c.want)
		}
	}
}

// No span goes on into another session, however short both are; times that nobody
// knows divide nothing.
func TestSpansNeverCrossAPause(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	said := []transcript.Message{{Seq: 0, Content: "One.", Time: at(0)}, {Seq: 1, Content: "Two.", Time: at(30)}, {Seq: 2, Content: "Three."}, {Seq: 3, Content: "Four.", Time: at(61)}, {Seq: 4, Content: "Five.", Time: at(62)}}
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

// Together the spans hold every word, whole, with who said it.
func TestSpansLoseNoWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("extraordinary remembrance ", 300) + "我们下周二去北京开会"
	said := []transcript.Message{{Seq: 4, Role: transcript.User, Name: "Ada", Content: "Hello there."}, {Seq: 5, Role: transcript.Assistant, Content: long}, {Seq: 6, Role: transcript.User, Name: "Ada", Content: "  "}}
	spans := Spans(said, DefaultSpans())
	if len(spans) < 3 || spans[0].FromSeq() != 4 || spans[0].ToSeq() != 5 || spans[len(spans)-1].FromSeq() != 5 {
		t.Fatalf("%d spans, the first of %d–%d", len(spans), spans[0].FromSeq(), spans[0].ToSeq())
	}
	if !strings.HasPrefix(spans[0].Text(), "Ada: Hello there.\nextraordinary") {
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
