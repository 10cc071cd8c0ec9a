package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// The secrets are in a message, in its history, and in the result of a tool call.
func TestEdgeSecretsOfTurnsReachNeitherModelNorLedger(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	key := "sk-" + strings.Repeat("aB3dE6gH", 3)
	other := "sk-" + strings.Repeat("Zx9wV7uT", 3)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "Remember", Reply: "I use {{secret:openai_key_1}}."})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "Search",
		Calls: []llm.ToolCall{{ID: "c1", Name: "no_such_tool_" + other, Arguments: "{}"}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Reply: "Done."})
	var a httpapi.TurnAnswer
	b.post("/v1/turns", message("c", 1, "Remember my key "+key+", and not "+other+".")).into(http.StatusOK, &a)
	if a.Reply != "I use {{secret:openai_key_1}}." { // placeholders are not replaced in replies
		t.Errorf("reply %q", a.Reply)
	}
	b.post("/v1/turns", message("c", 2, "Search with "+key+" again.")).into(http.StatusOK, &a)
	if a.Reply != "Done." {
		t.Errorf("reply %q", a.Reply)
	}
	requests := b.Model.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests {
		if strings.Contains(string(r.Body), key) {
			t.Errorf("the key is in a request: %s", r.Body)
		}
	}
	if body := string(requests[1].Body); strings.Count(body, "{{secret:openai_key_1}}") < 3 ||
		!strings.Contains(body, "{{secret:openai_key_2}}") {
		t.Errorf("equal values have no equal placeholders: %s", body)
	}
	var rows int
	testkit.Must(t, b.Admin().QueryRow(t.Context(),
		"select count(*) from cairn.llm_calls where llm_calls::text like '%' || $1 || '%'", key).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows of the ledger hold the key", rows)
	}

	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: map[string]any{"redact_turns": false},
		header: map[string]string{"Content-Type": "application/merge-patch+json"}}).into(http.StatusOK, nil)
	b.post("/v1/turns", message("d", 1, "Remember my key "+key+".")).into(http.StatusOK, &a)
	if all := b.Model.Requests(); !strings.Contains(string(all[len(all)-1].Body), key) {
		t.Error("redact_turns=false has no effect")
	}
}
