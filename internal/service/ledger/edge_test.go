package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/ledger"
	"cairn/internal/testkit"
)

// The text of an endpoint is for operators: the caller and the ledger get the class and the ID of the log line.
func TestEdgeTheTextOfAModelErrorIsForOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var log bytes.Buffer
	b.Log = slog.New(slog.NewJSONHandler(&log, nil))
	key := "sk-" + strings.Repeat("aB3dE6gH", 3)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.Auth, Status: 401, Sent: true,
			Message: "Incorrect API key " + key + " for org-acme at llm.internal.example",
			Cause:   errors.New("dial llm.internal.example")}
	})
	_, err := b.ask(t.Context(), "s", "hi")
	reason, permanent := ledger.IsPermanent(err)
	if !permanent || reason.Code != fault.ModelAuth {
		t.Fatalf("got %v", err)
	}
	var line struct {
		ID   string `json:"error_id"`
		Text string `json:"error"`
	}
	testkit.Must(t, json.Unmarshal(log.Bytes(), &line))
	row := b.row("s")
	for place, text := range map[string]string{"error": err.Error(), "reason": reason.Error(), "ledger": row.Error} {
		for _, private := range []string{key, "org-acme", "internal.example"} {
			if strings.Contains(text, private) {
				t.Errorf("the %s holds %q: %s", place, private, text)
			}
		}
		if line.ID == "" || !strings.Contains(text, line.ID) || !strings.Contains(text, "auth, status 401") {
			t.Errorf("the %s does not lead to the log line %q: %s", place, line.ID, text)
		}
	}
	if !strings.Contains(line.Text, "org-acme at llm.internal.example") || strings.Contains(line.Text, key) {
		t.Errorf("logged %q", line.Text)
	}
}
