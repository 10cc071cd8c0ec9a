package transcript_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
)

// work is a conversation of calls; a call that ends in "!" fails.
func work(names ...string) (out []transcript.Message) {
	for i, name := range names {
		id := string(rune('a' + i))
		result := "done"
		if rest, failed := strings.CutSuffix(name, "!"); failed {
			name, result = rest, "Error: no such order"
		}
		out = append(out,
			transcript.Message{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: id, Name: name,
				Arguments: `{"n":1}`}}},
			transcript.Message{Role: transcript.Tool, ToolCallID: id, Name: name, Content: result})
	}
	return out
}

func TestDecisiveCalls(t *testing.T) {
	t.Parallel()
	for calls, want := range map[string]string{
		"get_order search_items":                       "",
		"get_order update_order":                       "update_order",
		"update_order get_order book_item get_order":   "update_order book_item",
		"get_order! get_order update_order! book_item": "get_order book_item",
		"update_order! update_order":                   "update_order",
		"update_order!":                                "",
	} {
		var got []string
		for _, c := range transcript.Decisive(work(strings.Fields(calls)...)) {
			got = append(got, c.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", calls, got, want)
		}
	}
}
