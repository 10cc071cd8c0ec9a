package offlinemodel

import (
	"reflect"
	"testing"

	"cairn/internal/domain/prompt"
)

// Found documents are ordered by their match with the question and rewritten in their own words.
// Other words lead to another order.
func TestWhatWasFoundIsOrderedAndRewritten(t *testing.T) {
	t.Parallel()
	stored := []prompt.StoredMemory{{Handle: "m1", Content: "Bo swims every morning"},
		{Handle: "m2", Content: "Ada flies from Osaka only"},
		{Handle: "m3", Content: "Ada visited the harbour museum in Osaka"}}
	for question, want := range map[string]struct {
		order []any
		text  string
	}{
		"Which museum did Ada visit in Osaka": {[]any{"m3", "m2"},
			"Ada visited the harbour museum in Osaka\nAda flies from Osaka only"},
		"When does Bo swim in the morning": {[]any{"m1"}, "Bo swims every morning"},
		"quantum chromodynamics":           {[]any{}, ""},
	} {
		m := prompt.Material{Question: question, Stored: stored, Limits: map[string]int{"max_memories": 2}}
		order := []any{}
		for _, one := range ask(t, prompt.Rerank, m)["ranking"].([]any) {
			item := one.(map[string]any)
			order = append(order, item["memory"])
			if score := item["score"].(float64); score <= 0 || score > 1 {
				t.Errorf("%q: score %g", question, score)
			}
		}
		got := ask(t, prompt.Condense, m)
		if !reflect.DeepEqual(order, want.order) || got["context"] != want.text ||
			!reflect.DeepEqual(got["used"], want.order) {
			t.Errorf("%q: order %v, %v", question, order, got)
		}
	}
}
