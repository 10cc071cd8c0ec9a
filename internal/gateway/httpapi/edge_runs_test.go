package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// runRequests are the requests that name a run.
func runRequests(id string) []request {
	id = url.PathEscape(id)
	return []request{{path: "/v1/runs/" + id}, {path: "/v1/runs/" + id + "/events"},
		{method: http.MethodPost, path: "/v1/runs/" + id + "/retry"},
		{method: http.MethodPost, path: "/v1/runs/" + id + "/retry?fresh=true"}}
}

// A run of another workspace looks like one that does not exist.
func TestEdgeRunsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	var a httpapi.AcceptedRequest
	b.post("/v1/distill", sampleConversation()).into(http.StatusAccepted, &a)
	b.get("/v1/runs/"+a.Run).into(http.StatusOK, nil)
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	key := b.makeKey(other, access.Admin)
	unknown := runRequests(noRun)
	for i, r := range runRequests(a.Run) {
		r.key, unknown[i].key = key, key
		theirs, none := b.do(r).refused(fault.NotFound), b.do(unknown[i]).refused(fault.NotFound)
		if got := strings.ReplaceAll(theirs.Message, a.Run, noRun); got != none.Message || theirs.Hint != none.Hint {
			t.Errorf("%s: %+v, but an unknown run: %+v", r.path, theirs, none)
		}
	}
}

// An ID of another form is refused before the database is asked.
func TestEdgeRunIDsOfAnotherFormAreRefused(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RateLimit = 0 })
	for _, id := range []string{"1", "0", "-1", "9223372036854775808", "run_1", noRun[:len(noRun)-1], noRun + "0",
		strings.ToUpper(noRun), "RUN_" + noRun[4:], noRun[:29] + "i", noRun[:29] + "'", noRun[:29] + "\x00",
		noRun[:29] + "\u0660", noRun + "\n", " " + noRun, "%", "null", "..%2f" + noRun} {
		for _, r := range runRequests(id) {
			res := b.do(r)
			if p := res.refused(fault.InvalidArgument); res.status != http.StatusBadRequest ||
				!strings.Contains(p.Message, "run ID") || !strings.Contains(p.Hint, "run_") {
				t.Errorf("%q: %d %+v", r.path, res.status, p)
			}
		}
	}
}
