package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOtherProgramsCanSteerTheServer(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Reply: "old"})
	script, err := json.Marshal(Script{Rules: []Rule{{Stage: "extract", Delay: time.Millisecond, Reply: "new"}},
		Dims: 8})
	if err != nil || !strings.Contains(string(script), `"delay":"1ms"`) {
		t.Fatalf("%s, %v", script, err)
	}
	if status, answer := do(t.Context(), http.MethodPut, srv.Root+"/script", "",
		script); status != http.StatusNoContent {
		t.Fatalf("got %d %s", status, answer)
	}
	if _, answer := post(t.Context(), srv, "extract", "x"); content(t, answer) != "new" {
		t.Errorf("got %s", answer)
	}
	for _, bad := range []string{`{`, `{"rules":[{"match":"("}]}`, `{"rules":[{"delay":"soon"}]}`} {
		if status, _ := do(t.Context(), http.MethodPut, srv.Root+"/script", "",
			[]byte(bad)); status != http.StatusBadRequest {
			t.Errorf("%s: got %d", bad, status)
		}
	}
	_, recorded := do(t.Context(), http.MethodGet, srv.Root+"/requests", "", nil)
	var calls []Call
	if err := json.Unmarshal([]byte(recorded), &calls); err != nil || len(calls) != 1 ||
		calls[0].Key() != srv.Requests()[0].Key() {
		t.Errorf("requests: %s, %v", recorded, err)
	}
	_, paid := do(t.Context(), http.MethodGet, srv.Root+"/paid", "", nil)
	if paid != fmt.Sprintf(`{"%s":1}`, calls[0].Key()) {
		t.Errorf("paid: %s", paid)
	}
	if status, models := do(t.Context(), http.MethodGet, srv.URL+"/models", "", nil); status != 200 ||
		!strings.Contains(models, `"id":"scripted"`) {
		t.Errorf("models: %d %s", status, models)
	}
}
