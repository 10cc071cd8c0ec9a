package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/search"
)

// An embedding model of another dimension: the gateway is ready, says that it is degraded, stores
// documents, and searches by words.
func TestAWrongDimensionDegradesTheGateway(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.EmbeddingModel, c.EmbeddingDimensions = "scripted-embedding", 32 })
	var ready httpapi.Readiness
	b.get("/readyz").into(http.StatusOK, &ready)
	check := ready.Checks[len(ready.Checks)-1]
	if !ready.Ready || !slices.Equal(ready.Degraded, []string{"embedder"}) || check.Name != "embedder" ||
		check.Problem == nil || check.Problem.Code != fault.Misconfigured ||
		!strings.Contains(check.Problem.Message, "64") || !strings.Contains(check.Problem.Message, "32") {
		t.Errorf("%+v, %+v", ready, check.Problem)
	}
	b.post("/v1/memories", map[string]any{"store": "profile", "content": "Prefers the boathouse at dawn."}).
		into(http.StatusCreated, nil)
	for _, path := range []string{"/v1/search?q=boathouse&kinds=memory", "/v1/search?q=boathouse"} {
		var found httpapi.SearchResults
		b.get(path).into(http.StatusOK, &found)
		if found.Vector != search.VectorUnavailable {
			t.Errorf("%s: vector %q", path, found.Vector)
		}
		if strings.Contains(path, "kinds") && len(found.Found) != 1 {
			t.Errorf("%s: found %+v", path, found.Found)
		}
	}
}

func TestAWorkingEmbedderIsNotMentioned(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.EmbeddingModel, c.EmbeddingDimensions = "scripted-embedding", 64 })
	var ready httpapi.Readiness
	b.get("/readyz").into(http.StatusOK, &ready)
	var found httpapi.SearchResults
	b.get("/v1/search?q=boathouse&kinds=memory").into(http.StatusOK, &found)
	if len(ready.Degraded) != 0 || found.Vector != "" {
		t.Errorf("%+v, vector %q", ready, found.Vector)
	}
}
