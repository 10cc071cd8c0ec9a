package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// Messages are answered in their order, also if the process that stored the first ones stopped before it delivered
// them.
func TestALaterMessageDoesNotOvertake(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Yes."})
	for n := range 3 {
		_, err := b.App.Inbox.Accept(t.Context(), conversation.Request{Workspace: b.Workspace.ID,
			WorkspaceKey: b.Workspace.Key, Conversation: "c", Channel: "chat", MessageID: fmt.Sprintf("m%d", n),
			Text: fmt.Sprintf("question %d", n), Spec: app.TurnSpec(b.Config)})
		testkit.Must(t, err)
	}
	b.Say("c", 9, "question 3")
	all := b.Model.Requests()
	if len(all) != 4 {
		for _, r := range all {
			t.Logf("%+v", r.Messages)
		}
		t.Fatalf("%d model calls", len(all))
	}
	for n, r := range all {
		last := r.Messages[len(r.Messages)-1].Content
		if !strings.Contains(last, fmt.Sprintf("question %d", n)) ||
			strings.Count(fmt.Sprint(r.Messages), "Yes.") != n {
			t.Errorf("call %d is for %q", n, last)
		}
	}
}
