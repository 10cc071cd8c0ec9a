package memoryagent

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
)

// talk returns a session of turns with two messages each.
func talk(turns int, text string) (out []transcript.Message) {
	for i := range turns {
		out = append(out, transcript.Message{Seq: 2 * i, Role: transcript.User, Content: fmt.Sprintf("%d %s", i, text)},
			transcript.Message{Seq: 2*i + 1, Role: transcript.Assistant, Content: "Noted."})
	}
	return out
}

func TestALongSessionIsDividedBetweenTurns(t *testing.T) {
	t.Parallel()
	const tokens = 1000
	long := strings.Repeat("蜂蜜和山羊。", 700)
	for name, c := range map[string]struct {
		said  []transcript.Message
		parts int // at least
	}{
		"short":                    {talk(3, "hello"), 0},
		"turns":                    {talk(40, strings.Repeat("word ", 100)), 5},
		"one turn with many words": {talk(1, strings.Repeat("word ", 4000)), 5},
		"a long turn among others": {append(talk(4, strings.Repeat("word ", 100)),
			transcript.Message{Seq: 8, Role: transcript.User, Content: long},
			transcript.Message{Seq: 9, Role: transcript.Assistant, Content: "Yes."}), 4},
		"no turns": {func() (out []transcript.Message) {
			for i := range 30 {
				out = append(out, transcript.Message{Seq: i, Role: transcript.Assistant,
					Content: strings.Repeat("word ", 100)})
			}
			return out
		}(), 4},
	} {
		t.Run(name, func(t *testing.T) {
			parts := divide(c.said, 4000, tokens)
			if c.parts == 0 && parts != nil || len(parts) < c.parts {
				t.Fatalf("%d parts: %+v", len(parts), parts)
			}
			next := 0 // next expected message
			for i, p := range parts {
				if p.FromSeq != next || p.ToSeq < p.FromSeq {
					t.Fatalf("part %d is %+v, and message %d is next", i, p, next)
				}
				weight := 0
				for _, m := range c.said[p.FromSeq : p.ToSeq+1] {
					text := m.Content
					if p.Pieces > 0 {
						text = pieceOf(text, p.Piece, p.Pieces)
					}
					weight += llm.EstimateTokens(text)
				}
				if weight > tokens*11/10 {
					t.Errorf("part %+v has %d tokens", p, weight)
				}
				if name == "turns" && c.said[p.FromSeq].Role != transcript.User {
					t.Errorf("part %+v begins within a turn", p)
				}
				if p.Piece == p.Pieces {
					next = p.ToSeq + 1
				}
			}
			if parts != nil && next != len(c.said) {
				t.Errorf("the parts end before message %d of %d", next, len(c.said))
			}
		})
	}
}

func TestPiecesAreAllOfAText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", strings.Repeat("one two three ", 300), strings.Repeat("蜂蜜", 500),
		strings.Repeat("x", 997)} {
		for pieces := 1; pieces < 7; pieces++ {
			whole := ""
			for n := range pieces {
				one := pieceOf(text, n+1, pieces)
				if whole += one; n+1 < pieces && strings.Contains(text, " ") && !strings.HasSuffix(one, " ") {
					t.Errorf("a piece ends within a word: %q", one[max(0, len(one)-20):])
				}
			}
			if whole != text {
				t.Errorf("%d pieces of %d bytes are %d bytes", pieces, len(text), len(whole))
			}
		}
	}
}

// A run that ends early has read the parts that it has finished.
func TestARunIsThroughWithTheFinishedParts(t *testing.T) {
	t.Parallel()
	text, call := run.Step{Content: "So much for that."},
		run.Step{Calls: []run.ToolCall{{Tool: "hands_off"}}}
	p := PinnedSpec{Parts: []Part{{FromSeq: 3, ToSeq: 5}, {FromSeq: 6, ToSeq: 6, Piece: 1, Pieces: 2},
		{FromSeq: 6, ToSeq: 6, Piece: 2, Pieces: 2}}}
	for name, c := range map[string]struct {
		steps  []run.Step
		reason agent.Reason
		to     int
		any    bool
	}{
		"in the first part":    {[]run.Step{call}, agent.ProviderError, 2, false},
		"after the first part": {[]run.Step{call, text, call}, agent.ProviderError, 5, true},
		"within a message":     {[]run.Step{text, text}, agent.Exhausted, 5, true},
		"after all parts":      {[]run.Step{text, text, text}, agent.OverBudget, 6, true},
		"at its end":           {[]run.Step{text, text, text, text}, agent.Final, 6, true},
	} {
		w := agentrun.RunView{Run: run.Run{Kind: run.Summarize}}
		w.Spec.FromSeq, w.Spec.ToSeq, w.Spec.Budget.Max = 3, 6, 80
		for i, s := range c.steps {
			s.N = i + 1
			w.Steps = append(w.Steps, s)
		}
		if to, any := readTo(w, p, c.reason); any != c.any || any && to != c.to {
			t.Errorf("%s: %d %t, want %d %t", name, to, any, c.to, c.any)
		}
	}
}
