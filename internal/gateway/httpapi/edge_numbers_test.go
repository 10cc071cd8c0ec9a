package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// Numbers that a double or a column cannot hold are refused with a code and a hint, and nothing of the
// request is stored.
func TestEdgeNumbersAreFiniteAndInRange(t *testing.T) {
	t.Parallel()
	b := idle(t)
	message := `"messages":[{"role":"user","content":"How do I export a report as CSV?"}]`
	for _, attack := range []struct{ method, path, body string }{
		{"POST", "/v1/memories", `{"memory_type":"personal","memory_target":"Ann","content":"x","importance":%s}`},
		{"POST", "/v1/summary_memory", `{"trajectories":[{` + message + `,"score":%s}]}`},
		{"POST", "/v1/distill", `{` + message + `,"reward":%s}`},
		{"POST", "/v1/retrieve_memory", `{"query":"bees","filter":true,"min_score":%s}`},
		{"PATCH", "/v1/settings", `{"curation":{"floor":%s}}`},
		{"PATCH", "/v1/settings", `{"search":{"w_lexical":%s}}`},
		{"PATCH", "/v1/settings", `{"search":{"neighbors":[0.1,0.2,0.3,%s]}}`},
		{"PATCH", "/v1/settings", `{"nudge":{"every":%s}}`},
		{"PATCH", "/v1/settings", `{"memory":{"idle_minutes":%s}}`},
	} {
		for _, value := range []string{"1e999", "-1e999", "1e300", "-1e300", `"NaN"`, `"Infinity"`, "NaN"} {
			res := b.do(request{method: attack.method, path: attack.path, body: fmt.Sprintf(attack.body, value)})
			if res.refused(fault.InvalidArgument).Code == "" {
				t.Errorf("%s %s with %s", attack.method, attack.path, value)
			}
		}
	}
	for _, path := range []string{"/v1/soul/rollback", "/v1/memories/0123456789abcdef/restore"} {
		res := b.do(
			request{method: http.MethodPost, path: path + "?version=4294967297", body: `{"version":4294967297}`},
		)
		res.refused(fault.InvalidArgument)
	}
	var n int
	testkit.Must(t, b.Admin().QueryRow(t.Context(), `select (select count(*) from cairn.memories) +
		(select count(*) from cairn.conversations) +
		(select count(*) from cairn.workspaces where settings <> '{}')`).Scan(&n))
	if n != 0 {
		t.Errorf("%d rows are stored", n)
	}
	b.post("/v1/memories", `{"memory_type":"personal","memory_target":"Ann","content":"x","importance":0.5}`).into(
		http.StatusCreated, nil)
}
