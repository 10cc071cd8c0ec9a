package browsertest_test

import (
	"fmt"
	"testing"

	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// Messages that could not be delivered are sent again or dropped.
func TestDeliveriesAreRetriedAndDropped(t *testing.T) {
	f, b := signedIn(t)
	state := func(source string) httpapi.Delivery {
		return find(t, read[httpapi.DeliveryList](f, "/v1/deliveries").Deliveries,
			func(d httpapi.Delivery) bool { return d.Source == source })
	}
	first, second := state("event/1"), state("event/2")
	if first.State != "dead" || second.State != "dead" {
		t.Fatalf("%+v and %+v", first, second)
	}
	b.Visit(f.At("channels"))
	button := func(id int64, verb string) string {
		return fmt.Sprintf("form[action$='/channels/%d/%s'] button", id, verb)
	}
	b.Act(button(first.ID, "retry"), "Started.")
	if got := state("event/1"); got.State != "ready" || state("event/2").State != "dead" {
		t.Errorf("after a retry: %+v", got)
	}
	if has(b, button(first.ID, "retry")) || !has(b, button(second.ID, "retry")) {
		t.Error("the page offers wrong retries")
	}
	b.Act(button(second.ID, "drop"), "Removed.")
	shows(b, "dropped")
	if got := state("event/2"); got.State != "dropped" || state("event/1").State != "ready" {
		t.Errorf("after a drop: %+v", got)
	}
	if has(b, button(second.ID, "drop")) {
		t.Error("a dropped message can be dropped again")
	}
}

// A task of the outbox that is not due is worked off at once.
func TestTasksOfTheOutboxAreRetried(t *testing.T) {
	f, b := signedIn(t)
	tasks := func() (ids []int64) {
		for _, task := range read[httpapi.OutboxList](f, "/v1/outbox").Tasks {
			if task.Kind == "embed" && task.Key == f.Owed {
				ids = append(ids, task.ID)
			}
		}
		return ids
	}
	waiting := tasks()
	if len(waiting) != 1 {
		t.Fatalf("%d tasks wait", len(waiting))
	}
	b.Visit(f.At("outbox"))
	shows(b, "the endpoint does not answer")
	b.Act(fmt.Sprintf("form[action$='/outbox/%d/retry'] button", waiting[0]), "Started.")
	testkit.Eventually(t, "the task is done", func() bool { return len(tasks()) == 0 })
	b.Visit(f.At("outbox"))
	hides(b, "the endpoint does not answer")
}
