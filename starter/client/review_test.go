package client_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/testkit"
	"cairn/starter/client"
)

func TestAPersonReviewsByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	testkit.Must(t, b.Store.WorkerBeat(ctx, app.Queues()))
	for _, content := range []string{"Works at night.", "Lives in Osaka.", "Likes tea."} {
		b.StageMemory(content)
	}
	o, err := b.client.Overview(ctx)
	if err != nil || o.Waiting != 3 || len(o.Health) != 0 || o.Budget.MicrosLimit == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	items, err := b.client.Inbox(ctx)
	if err != nil || len(items) != 3 || items[0].SHA == "" {
		t.Fatalf("%+v, %v", items, err)
	}
	one, err := b.client.InboxItem(ctx, items[0].ID)
	if err != nil || one.Diff == "" || one.Editable == nil || len(one.Editable.Facts) != 1 {
		t.Fatalf("%+v, %v", one, err)
	}
	text := client.ItemText{Facts: []string{"Works by day."}}
	seen, err := b.client.PreviewItem(ctx, one.ID, text)
	if err != nil || !strings.Contains(seen.Diff, "by day") || len(seen.Findings) != 0 {
		t.Errorf("%+v, %v", seen, err)
	}
	if r, err := b.client.EditItem(ctx, one, text, client.ItemOverride{}); err != nil || r.State != "approved" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := b.client.ApproveItem(ctx, one, client.ItemOverride{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a decided item: %v", err)
	}
	if r, err := b.client.ApproveItem(ctx, items[1], client.ItemOverride{}); err != nil || r.State != "approved" {
		t.Errorf("%+v, %v", r, err)
	}
	results, err := b.client.ApproveItems(ctx, items[0], items[2])
	if err != nil || len(results) != 2 || results[0].Problem == nil || results[1].State != "approved" {
		t.Errorf("%+v, %v", results, err)
	}
	if results, err = b.client.RejectItems(ctx, items[2]); err != nil || results[0].Problem.Code != "not_found" {
		t.Errorf("%+v, %v", results, err)
	}
	if _, err := b.client.RejectItems(ctx); err == nil {
		t.Error("no items were rejected")
	}
	if _, err := b.client.CancelRun(ctx, "run_00000000000000000000000000"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown run: %v", err)
	}
}

func TestSchedulesAreChangedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddSchedule("tea", "30 2 * * *", "Europe/Berlin")
	cron := "30 2 * * 0"
	testkit.Must(t, b.client.ChangeSchedule(t.Context(), "tea", client.ScheduleChange{Cron: &cron}))
	next, err := b.client.NextFirings(t.Context(), "tea", 60)
	changes := ""
	for _, f := range next {
		changes += f.Change
	}
	if err != nil || len(next) != 60 || !strings.Contains(changes, "skipped") {
		t.Errorf("%d firings, %q, %v", len(next), changes, err)
	}
	if err := b.client.ChangeSchedule(t.Context(), "nothing", client.ScheduleChange{}); !errors.Is(err,
		client.ErrNotFound) {
		t.Errorf("an unknown task: %v", err)
	}
}
