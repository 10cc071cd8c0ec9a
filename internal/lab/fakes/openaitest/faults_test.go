package openaitest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestPaidCountsCompleteRepliesOnly(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "twice", Reply: "ok"})
	srv.On(Rule{Stage: "status", Status: 503})
	srv.On(Rule{Stage: "drop", Drop: true})
	srv.On(Rule{Stage: "half", DropAfter: true, Reply: "a reply that is cut in the middle"})
	srv.On(Rule{Stage: "hang", Barrier: "gate"})
	for _, stage := range []string{"twice", "twice", "status", "drop", "half"} {
		post(t.Context(), srv, stage, "x")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { post(ctx, srv, "hang", "x") })
	if err := srv.AwaitBarrier(t.Context(), "gate", 1); err != nil {
		t.Fatal(err)
	}
	cancel() // the client is gone before the reply
	waiting.Wait()
	paid := srv.Paid()
	if len(paid) != 1 || paid[srv.Requests()[0].Key()] != 2 {
		t.Fatalf("got %v, want the stage \"twice\" paid twice and nothing else", paid)
	}
}

func TestFaultsLookLikeFaults(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "status", Status: 429, RetryAfter: "3", Reply: "slow down"})
	srv.On(Rule{Stage: "body", Status: 400, Reply: `{"error":{"code":"context_length_exceeded"}}`})
	srv.On(Rule{Stage: "malformed", Malformed: true})
	srv.On(Rule{Stage: "drop", Drop: true})
	srv.On(Rule{Stage: "half", DropAfter: true, Reply: "text"})
	for stage, want := range map[string]struct {
		status int
		says   string
		valid  bool
	}{
		"status": {429, "slow down", true}, "body": {400, "context_length_exceeded", true},
		"malformed": {200, "choices", false},
		"drop":      {0, "EOF", false}, "half": {0, "unexpected EOF", false},
	} {
		status, answer := post(t.Context(), srv, stage, "x")
		if status != want.status || !strings.Contains(answer, want.says) || json.Valid([]byte(answer)) != want.valid {
			t.Errorf("%s: got %d %s", stage, status, answer)
		}
	}
}

func TestBarriersHoldUntilReleased(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Barrier: "both", Reply: "ok"})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if status, answer := post(t.Context(), srv, "merge", "x"); status != 200 {
				t.Errorf("got %d %s", status, answer)
			}
		})
	}
	if err := srv.AwaitBarrier(t.Context(), "both", 2); err != nil {
		t.Fatal(err)
	}
	if len(srv.Paid()) != 0 {
		t.Error("a reply went out before the release")
	}
	if status, answer := do(t.Context(), http.MethodPost, srv.Root+"/barrier/both/release", "",
		nil); status != http.StatusNoContent {
		t.Fatalf("release: got %d %s", status, answer)
	}
	group.Wait()
	post(t.Context(), srv, "late", "x") // a released barrier stays open
	if srv.Count("") != 3 || srv.Count("merge") != 2 {
		t.Errorf("counted %d and %d, want 3 and 2", srv.Count(""), srv.Count("merge"))
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	srv := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Await(ctx, "extract", 1); err == nil || !strings.Contains(err.Error(), "extract") {
		t.Errorf("got %v", err)
	}
	srv.On(Rule{Reply: "ok"})
	go post(t.Context(), srv, "extract", "x")
	if err := srv.Await(t.Context(), "extract", 1); err != nil {
		t.Error(err)
	}
}
