package httpsearch_test

import (
	"testing"

	"cairn/internal/lab/bench/httpsearch"
	"cairn/internal/lab/tempcairn"
	"cairn/internal/testkit"
)

func TestSearchesOverHTTPFindTheirRowFirst(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	h, done, err := tempcairn.OpenDatabase(t.Context(), tempcairn.Options{}, t.Output())
	testkit.Must(t, err)
	defer done()
	b := httpsearch.Open(h, false, t.Logf)
	defer b.Close()
	rows, err := b.Needles(t.Context(), []int{300}, []string{"s", "z"}, 7)
	testkit.Must(t, err)
	subject, err := b.Subject(t.Context(), 2000, 7)
	testkit.Must(t, err)
	mem0, err := b.Mem0(t.Context(), 200, 10, 7)
	testkit.Must(t, err)
	rows = append(append(rows, subject...), mem0)
	for _, r := range rows {
		if r.First != 1 || r.P50 <= 0 || r.P99 < r.P50 {
			t.Errorf("%+v", r)
		}
	}
	if len(rows) != 6 {
		t.Errorf("%d rows", len(rows))
	}
	missed := httpsearch.Row{First: 0.5}
	slow := httpsearch.Row{First: 1, P50: 9, Goal: 5}
	held := httpsearch.Row{First: 1, P50: 9}
	if missed.Missed() == "" || slow.Missed() == "" || held.Missed() != "" {
		t.Errorf("wrong goals: %q, %q, %q", missed.Missed(), slow.Missed(), held.Missed())
	}
}
