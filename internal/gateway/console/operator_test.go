package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/testkit"
)

func TestOperatorsSeeAllWorkspacesWithoutTexts(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	const at = "/console/operator/"
	b.get(at).is(http.StatusSeeOther) // a key of a workspace is not enough
	b.browser = browser(t)
	metrics, _, err := b.Keys.CreateOperator(t.Context(), "prometheus", []access.Scope{access.Metrics}, nil)
	testkit.Must(t, err)
	b.post("/console/sign-in", url.Values{"key": {metrics}}).is(http.StatusForbidden).has("support required")
	key, made, err := b.Keys.CreateOperator(t.Context(), "ops", []access.Scope{access.Support}, nil)
	testkit.Must(t, err)
	b.post("/console/sign-in", url.Values{"key": {key[:len(key)-2] + "!!"}}).
		is(http.StatusUnauthorized)
	to := b.post("/console/sign-in", url.Values{"key": {key}}).is(http.StatusSeeOther).header.Get("Location")
	if to != at {
		t.Errorf("signed in to %s", to)
	}
	b.get("/console/").is(http.StatusSeeOther)
	b.exec(`update cairn.llm_calls set state = 'failed', reply = null, error_class = 'auth' where run_id = $1`, f.Turn)
	list := b.get(at).is(http.StatusOK).has(b.Workspace.Key, "Workspaces").
		lacks(">test<", "green tea", "kitchen", f.Skill)
	if list.header.Get("Content-Security-Policy") == "" {
		t.Error("no policy")
	}
	id := strconv.FormatInt(b.Workspace.ID, 10)
	b.get(at+"workspaces/"+id).is(http.StatusOK).has("auth", "failed model calls", "turn", "completed").
		lacks("green tea", "kitchen")
	b.get(at + "workspaces/999999").is(http.StatusNotFound)
	b.get(at + "workspaces/x").is(http.StatusNotFound)
	b.get(at + "?cursor=x").is(http.StatusBadRequest)
	b.get(f.At()).is(http.StatusSeeOther) // an operator has no grant of a workspace
	var signed int
	testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*) from cairn.audit_events where workspace_id is null
  and action = 'console.sign_in'`).Scan(&signed))
	if signed != 1 {
		t.Errorf("%d sign-ins of operators are recorded", signed)
	}
	testkit.Must(t, b.Keys.RevokeOperator(t.Context(), made.ID))
	b.get(at).is(http.StatusSeeOther)
	b.post(at+"sign-out", url.Values{}).is(http.StatusSeeOther)
}
