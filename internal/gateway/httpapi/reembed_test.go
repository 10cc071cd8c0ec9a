package httpapi_test

import (
	"net/http"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

func TestAWorkspaceIsReembeddedOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post("/v1/memories", map[string]any{"store": "profile", "content": "Prefers the boathouse at dawn."}).
		into(http.StatusCreated, nil)
	var started httpapi.ReembedStarted
	b.post("/v1/reembed", map[string]any{}).into(http.StatusAccepted, &started)
	if started.Running || started.Model == "" {
		t.Errorf("nothing to do: %+v", started)
	}
	old, err := b.Store.Space(t.Context(), "old-model", 8)
	testkit.Must(t, err)
	for _, sql := range []string{"delete from cairn.embeddings where $1::int > 0",
		"update cairn.workspaces set space_id = $1"} {
		_, err := b.Admin().Exec(t.Context(), sql, old)
		testkit.Must(t, err)
	}
	b.do(request{method: http.MethodPost, path: "/v1/reembed", key: b.makeKey(b.Workspace, access.Write),
		body: map[string]any{}}).refused(fault.OutOfScope)
	b.post("/v1/reembed", map[string]any{"rollback": true}).refused(fault.NotFound)
	b.post("/v1/reembed", map[string]any{"rate": -1}).refused(fault.InvalidArgument)
	for _, action := range []string{"pause", "resume", "cancel"} {
		b.post("/v1/reembed/"+action, nil).refused(fault.NotFound)
	}
	var report httpapi.ReembedReport
	b.get("/v1/reembed").into(http.StatusOK, &report)
	if report.Vector != "unavailable" || report.Documents != 1 || report.Reembed != nil {
		t.Errorf("%+v", report)
	}
	var estimate httpapi.ReembedEstimate
	b.get("/v1/reembed/estimate?rate=1").into(http.StatusOK, &estimate)
	if estimate.Documents != 1 || estimate.Requests != 1 || estimate.Seconds != 1 {
		t.Errorf("%+v", estimate)
	}
	b.post("/v1/reembed", map[string]any{"rate": 100}).into(http.StatusAccepted, &started)
	if !started.Running {
		t.Errorf("%+v", started)
	}
	testkit.Eventually(t, "the re-embedding ends", func() bool {
		report = httpapi.ReembedReport{}
		b.get("/v1/reembed").into(http.StatusOK, &report)
		return report.Reembed != nil && report.Reembed.State == "completed"
	})
	if report.Reembed.Done != 1 || report.Vector != "" {
		t.Errorf("%+v, %+v", report, report.Reembed)
	}
}
