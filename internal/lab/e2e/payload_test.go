package e2e_test

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
	"cairn/workflows"
)

// With a key, the payloads in workflow histories are encrypted, and the histories replay with
// that key.
func TestWhatWorkflowsCarryIsEncryptedWhereThereIsAKey(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) {
		c.PayloadKeys = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	})
	b.Model.On(openaitest.Rule{Stage: "turn", Status: 401, Reply: "bad key"}) // what failed is told in the history, too
	if got := b.Say("c", 1, "hello"); got.Reason != "provider_error" {
		t.Errorf("answered %+v", got)
	}
	carried := 0
	for _, id := range []string{contract.ConversationID(b.Workspace.Key, view(b, "c").ID), turnID(b, "c", "m1")} {
		h := b.History(id, "")
		for _, e := range h.Events {
			for _, p := range append(append(e.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads(),
				e.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads()...),
				e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetArgs().
					GetPayloads()...) {
				if carried++; string(p.Metadata[converter.MetadataEncoding]) != "binary/encrypted" {
					t.Errorf("%s carries %s", e.EventType, p.Data)
				}
			}
			if m := e.GetActivityTaskFailedEventAttributes().GetFailure().GetMessage(); m != "" &&
				m != "Encoded failure" {
				t.Errorf("a failure says %q", m)
			}
		}
		for keys, replays := range map[converter.DataConverter]bool{b.Payloads: true,
			converter.GetDefaultDataConverter(): false} {
			replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: keys})
			testkit.Must(t, err)
			workflows.Register(replayer)
			if err := replayer.ReplayWorkflowHistory(temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
				h); (err == nil) != replays {
				t.Errorf("%s replays with its key %t: %v", id, replays, err)
			}
		}
	}
	if carried < 4 {
		t.Errorf("%d payloads were looked at", carried)
	}
}
