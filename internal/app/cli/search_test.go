package cli

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestSearchShowsTheTurnsAroundATurn(t *testing.T) {
	t.Parallel()
	w := idle(t)
	testkit.Must(t, w.Store.InWorkspace(t.Context(), w.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "dinner",
			Messages: []transcript.Message{{Role: transcript.User, Content: "Who cooks tonight?"},
				{Role: transcript.Assistant, Content: "Otto makes gnocchi."},
				{Role: transcript.User, Content: "Then I set the table."}}}, "import")
		return err
	}))
	code, out, errs := w.run("", "search", "--kinds", "turn", "--context", "1", "--limit", "1", "gnocchi")
	if lines := strings.Split(out, "\n"); code != 0 || len(lines) < 4 || !strings.Contains(lines[1], "gnocchi") ||
		!strings.HasPrefix(lines[2], "  turn  dinner#0") || !strings.HasPrefix(lines[3], "  turn  dinner#2") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"--context", "11", "--kinds", "turn"}, {"--context", "2"}} {
		if code, _, errs := w.run("", append([]string{"search", "gnocchi"}, args...)...); code != 2 ||
			!strings.Contains(errs, "--context") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}
