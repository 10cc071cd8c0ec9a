package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestASearchShowsTheTurnsAroundATurn(t *testing.T) {
	t.Parallel()
	b := idle(t)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "dinner",
			Messages: []transcript.Message{{Role: transcript.User, Content: "Who cooks tonight?"},
				{Role: transcript.Assistant, Content: "Otto makes gnocchi."}}}, "import")
		return err
	}))
	var out httpapi.SearchResults
	b.get("/v1/search?q=gnocchi&context=1&limit=1").into(http.StatusOK, &out)
	if len(out.Found) != 1 || len(out.Found[0].Context) != 1 || out.Found[0].Context[0].ID != "dinner#0" {
		t.Errorf("found %+v", out.Found)
	}
	b.get("/v1/search?q=gnocchi&context=11").refused(fault.InvalidArgument)
}

func TestARequestThatCannotBeReadSaysHowToCorrectIt(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for _, c := range []struct {
		request
		says, hint string
	}{
		{request{path: "/v1/search?q=gnocchi&kind=all"}, "query.kind", "docs/reference/http.md"},
		{request{method: http.MethodPost, path: "/v1/memories", body: `{"content": }`}, "invalid character",
			"valid JSON"},
		{request{method: http.MethodPost, path: "/v1/memories", body: `{"content": "x"}`,
			header: map[string]string{"Content-Type": "text/plain"}}, "content type", "Content-Type: application/json"},
	} {
		var p edge.Problem
		b.do(c.request).into(http.StatusBadRequest, &p)
		if p.Code != fault.InvalidArgument || !strings.Contains(p.Message, c.says) ||
			!strings.Contains(p.Hint, c.hint) {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
}
