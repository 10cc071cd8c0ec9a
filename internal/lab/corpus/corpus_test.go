package corpus_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/lexical"
	"cairn/internal/lab/corpus"
	"cairn/internal/testkit"
)

func terms(text string) map[int32]bool {
	out := map[int32]bool{}
	for _, t := range lexical.Terms(text) {
		out[t.Hash] = true
	}
	return out
}

// A measurement with a wrong answer key measures nothing.
func TestOnlyOneRowHoldsAllWordsOfItsQuestion(t *testing.T) {
	t.Parallel()
	const size = 3000
	for _, name := range []string{"s", "z"} {
		rows, err := corpus.Named(name, 7)
		testkit.Must(t, err)
		held := make([]map[int32]bool, size)
		length := 0
		for n := range held {
			held[n] = terms(rows.Text(n))
			length += len(held[n])
		}
		t.Logf("%s: %d terms, %q, %q", name, length/size, rows.Text(5), rows.Question(5))
		for n := 3; n < size; n += 100 {
			asked := terms(rows.Question(n))
			for at, row := range held {
				all := true
				for word := range asked {
					all = all && row[word]
				}
				if all != (at == n) {
					t.Errorf("%s: row %d holds all words of question %d: %t", name, at, n, all)
				}
			}
		}
	}
}

func TestTheSameSeedGivesTheSameTexts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"s", "z"} {
		a, err := corpus.Named(name, 7)
		testkit.Must(t, err)
		b, _ := corpus.Named(name, 7)
		other, _ := corpus.Named(name, 8)
		if a.Text(9) != b.Text(9) || a.Question(9) != b.Question(9) || a.Frequent(1, 4) != b.Frequent(1, 4) ||
			a.Mixed(2, 8, 100) != b.Mixed(2, 8, 100) || a.Text(9) == other.Text(9) || a.Text(9) == a.Text(10) {
			t.Errorf("%s: %q, %q, %q", name, a.Text(9), b.Text(9), other.Text(9))
		}
		if n := len(strings.Fields(a.Mixed(2, 8, 100))); n != 8 {
			t.Errorf("%s: a query of 8 words has %d", name, n)
		}
	}
	if _, err := corpus.Named("x", 1); err == nil {
		t.Error("an unknown vocabulary is accepted")
	}
}
