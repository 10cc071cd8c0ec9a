package lang_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/lang"
)

// The numbers of real tokenizers (o200k) are about 10, 26, 21 and 12.
func TestMostTokensExceedsTheTokensOfCodeAndNumbers(t *testing.T) {
	t.Parallel()
	for text, least := range map[string]int{
		"The quick brown fox jumps over the lazy dog.":                 10,
		`{"reservation_id":"ZFA04Y","cabin":"basic_economy","bags":0}`: 22,
		"a94a8fe5ccb19ba61c4c0873d391e987":                             18,
		"2026-03-04 11:32:07.123":                                      12,
		"帮我重启服务":                                                       6,
	} {
		if got := lang.MaxTokens(text); got < least || got > 2*least || got < lang.EstimateTokens(text) {
			t.Errorf("%q: %d, want %d to %d", text, got, least, 2*least)
		}
	}
	if got := lang.MaxTokens(strings.Repeat(" ", 4000)); got > 1001 {
		t.Errorf("spaces: %d", got)
	}
}
