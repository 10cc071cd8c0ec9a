package llm_test

import (
	"testing"

	"cairn/internal/domain/llm"
)

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "你好": 2, "你好ab": 3, "日本語テキスト": 7} {
		if got := llm.EstimateTokens(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
