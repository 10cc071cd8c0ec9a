package offlinemodel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
)

// The rules write a valid compaction of any messages, and it follows their content.
func TestARecordIsMadeOfTheMessagesThemselves(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"Ada", "Lisbon"}, {"Björk", "Reykjavik"}, {"王芳", "上海"}} {
		var ms []transcript.Message
		for n := range 12 {
			ms = append(ms, transcript.Message{Role: transcript.User, Seq: 3 * n,
				Content: fmt.Sprintf("Please book hotel number %d in %s for %s. The room must have a desk, and "+
					"breakfast is needed from 6 a.m. on.", n, names[1], names[0])},
				transcript.Message{Role: transcript.Assistant, Seq: 3*n + 1,
					ToolCalls: []transcript.ToolCall{
						{ID: fmt.Sprint(n), Name: "book_hotel", Arguments: fmt.Sprintf(`{"hotel":%d}`, n)}}},
				transcript.Message{Role: transcript.Tool, Seq: 3*n + 2, Name: "book_hotel", ToolCallID: fmt.Sprint(n),
					Content: `{"booked":true}`})
		}
		m := prompt.Material{Messages: transcript.Material(ms, 1000),
			Limits: map[string]int{"max_tokens": workingmemory.Tokens(ms) / 4}}
		raw, err := json.Marshal(ask(t, prompt.Compress, m))
		if err != nil {
			t.Fatal(err)
		}
		s, err := workingmemory.ReadSnapshot(string(raw), ms)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !strings.Contains(string(raw), names[1]) || len(s.KeyFacts) == 0 || len(s.RecentActions) == 0 ||
			!strings.Contains(s.RecentActions[len(s.RecentActions)-1], `{"hotel":11}`) {
			t.Errorf("%s", raw)
		}
	}
}
