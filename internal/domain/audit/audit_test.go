package audit_test

import (
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
)

func TestTheContextCarriesTheActor(t *testing.T) {
	t.Parallel()
	if a := audit.From(t.Context()); a != (audit.Actor{Kind: audit.System}) {
		t.Errorf("without an actor: %+v", a)
	}
	ctx := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada", Request: "r", Address: "192.0.2.1"})
	want := audit.Actor{Kind: audit.Key, KeyID: 7, Request: "r", Address: "192.0.2.1"}
	if a := audit.From(audit.WithKey(ctx, audit.Key, 7)); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
}

func TestFiltersAreParsed(t *testing.T) {
	t.Parallel()
	f, err := audit.NewFilter("key.create", "2027-01-31", "2027-01-31T09:00:00+02:00")
	if err != nil || f.Action != audit.KeyCreate || !f.Since.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) ||
		!f.Until.Equal(time.Date(2027, 1, 31, 7, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := audit.NewFilter("", "", ""); err != nil || f != (audit.Filter{}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range [][3]string{{"key.steal", "", ""}, {"", "yesterday", ""}, {"", "", "31.1.2027"},
		{"", "2027-02-01", "2027-01-31"}, {"", "2027-02-01", "2027-02-01"}} {
		_, err := audit.NewFilter(bad[0], bad[1], bad[2])
		if f := fault.From(err); f == nil || f.Code != fault.InvalidArgument || f.Hint == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestActionsAreSortedAndDiffer(t *testing.T) {
	t.Parallel()
	if sorted := slices.Compact(slices.Sorted(slices.Values(audit.Actions))); !slices.Equal(sorted, audit.Actions) {
		t.Errorf("%q", audit.Actions)
	}
}
