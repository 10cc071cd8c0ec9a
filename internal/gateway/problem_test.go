package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/internal/fault"
)

func TestEveryCodeIsAnsweredAsTheTableSays(t *testing.T) {
	t.Parallel()
	for code, row := range fault.Table {
		w := httptest.NewRecorder()
		problemOf(fmt.Errorf("do something: %w", fault.New(code, "what happened", ""))).write(w)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != row.HTTP || p.Code != code || p.Retryable != row.Retryable || p.Hint != row.Hint || p.Message != "what happened" {
			t.Errorf("%s: status %d, %+v", code, w.Code, p)
		}
	}
	// What fails outside of huma takes the same way.
	for _, status := range []int{http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		p := fromHuma(status, "what happened").(*Problem)
		if row, known := fault.Table[p.Code]; !known || p.GetStatus() != row.HTTP {
			t.Errorf("huma's %d became %+v with status %d", status, p, p.GetStatus())
		}
	}
}
