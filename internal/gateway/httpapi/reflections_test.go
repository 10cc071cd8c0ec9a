package httpapi_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/transcript"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/reflection"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestADayIsLookedBackOnOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	said := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), b.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(context.Background(),
			transcript.Conversation{ID: "c", Messages: []transcript.Message{
				{Role: transcript.User, Content: "We picked the blue tiles.", Time: said}}}, "import")
		return err
	}))
	b.Model.On(openaitest.Rule{Stage: "reflection", Last: llm.RoleUser,
		Calls: []llm.ToolCall{{ID: "1", Name: "note_append",
			Arguments: `{"observation":"Blue tiles were picked.","messages":[1]}`}}})
	b.Model.On(openaitest.Rule{Stage: "reflection", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})

	b.do(request{method: http.MethodPost, path: "/v1/reflections", key: b.makeKey(b.Workspace, access.Read),
		body: `{}`}).refused(fault.OutOfScope)
	b.do(request{method: http.MethodPost, path: "/v1/reflections", body: `{"date":"yesterday"}`}).
		refused(fault.InvalidArgument)
	b.do(request{method: http.MethodPost, path: "/v1/reflections", body: `{"date":"2999-01-01"}`}).
		refused(fault.InvalidArgument)
	b.do(request{method: http.MethodPost, path: "/v1/reflections", body: `{"from":"2026-03-02","to":"2026-03-01"}`}).
		refused(fault.InvalidArgument)
	b.get("/v1/reflections/2026-03-01").refused(fault.NotFound)

	var got httpapi.AcceptedReflections
	b.do(request{method: http.MethodPost, path: "/v1/reflections?wait=60",
		body: `{"from":"2026-02-28","to":"2026-03-01"}`}).into(http.StatusOK, &got)
	if len(got.Reflections) != 2 || got.Reflections[0].Status != reflection.Empty ||
		got.Reflections[1].Status != domainreflection.Saved {
		t.Fatalf("accepted %+v", got)
	}
	var day reflection.DayDetail
	b.get("/v1/reflections/2026-03-01").into(http.StatusOK, &day)
	if day.Status != domainreflection.Saved || len(day.Notes) != 1 ||
		day.Notes[0].Content != "Blue tiles were picked." ||
		len(day.Runs) != 1 {
		t.Errorf("the day %+v", day)
	}
	var list httpapi.ReflectionList
	b.get("/v1/reflections?from=2026-03-01").into(http.StatusOK, &list)
	if len(list.Reflections) != 1 || list.Reflections[0].Date != "2026-03-01" {
		t.Errorf("the dates %+v", list)
	}
}
