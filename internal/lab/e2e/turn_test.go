package e2e_test

import (
	"testing"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
)

func TestAMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Ada."})
	first := b.Say("c", 1, "Hello, I am Ada.")
	if first.Reply != "Hello, Ada." || first.Reason != "final" || first.Turn != 1 {
		t.Fatalf("answered %+v", first)
	}
	if again := b.Say("c", 1, "Hello, I am Ada."); again != first {
		t.Errorf("the same message was answered %+v", again)
	}
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests for one message", n)
	}
}
