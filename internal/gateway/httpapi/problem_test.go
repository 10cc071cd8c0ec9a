package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/tools"
)

// Errors outside of huma have the same form.
func TestErrorsOfHumaHaveTheCodesOfTheTable(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusBadRequest,
		http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		p := fromHuma(status, "what happened").(*edge.Problem)
		if row, known := fault.Table[p.Code]; !known || p.GetStatus() != row.HTTP {
			t.Errorf("huma's %d became %+v with status %d", status, p, p.GetStatus())
		}
	}
}

// Extra members of an error are added to code and message, and
// never replace them.
func TestTheExtrasOfAnErrorAreAnswered(t *testing.T) {
	t.Parallel()
	err := fault.New(fault.VersionConflict, "it has moved on", "").With("current_version", 7).With("code", "mine")
	failure := tools.Result{Code: fault.VersionConflict, JSON: []byte(`{"ok":false,` +
		`"error":{"code":"version_conflict","message":"it has moved on","retryable":false,"current_version":7}}`)}
	for what, err := range map[string]error{"an error": fmt.Errorf("do something: %w", err),
		"a tool's failure": failed(failure)} {
		w := httptest.NewRecorder()
		edge.ProblemOf(err).Write(w)
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got["current_version"] != 7.0 || got["code"] != "version_conflict" || got["message"] != "it has moved on" ||
			got["hint"] == "" || got["retryable"] != false {
			t.Errorf("%s: %s", what, w.Body)
		}
	}
}
