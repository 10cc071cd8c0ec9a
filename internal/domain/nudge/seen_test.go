package nudge_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"cairn/internal/domain/nudge"
)

func TestTheLast128MessagesAreRemembered(t *testing.T) {
	t.Parallel()
	var seen nudge.RecentIDs
	for i := range 300 {
		id := strconv.Itoa(i)
		if seen.Has(id) || !seen.Add(id) || !seen.Has(id) {
			t.Fatalf("message %s is not new", id)
		}
		if seen.Add(id) {
			t.Fatalf("message %s is new twice", id)
		}
		if want := min(i+1, 128); len(seen) != want {
			t.Fatalf("%d remembered after %d", len(seen), i+1)
		}
		if oldest := max(i-127, 0); !seen.Has(strconv.Itoa(oldest)) || oldest > 0 && seen.Has(strconv.Itoa(oldest-1)) {
			t.Fatalf("after %s the oldest is %s", id, seen[0])
		}
	}
	text, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	var back nudge.RecentIDs
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back, seen) {
		t.Errorf("%s: %v", text, err)
	}
}

// State from an earlier version may have a larger limit.
func TestALongerMemoryIsCutToTheLimit(t *testing.T) {
	t.Parallel()
	var seen nudge.RecentIDs
	for i := range 200 {
		seen = append(seen, strconv.Itoa(i))
	}
	if !seen.Add("new") || len(seen) != 128 || seen[0] != "73" || seen[127] != "new" {
		t.Errorf("%d remembered, from %s to %s", len(seen), seen[0], seen[len(seen)-1])
	}
}
