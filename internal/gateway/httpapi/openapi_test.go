package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/testkit"
)

// `make generate` rewrites the file.
func TestTheDescriptionIsWhatTheHandlersAre(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CAIRN_CONFIG=" + os.DevNull}, nil)
	testkit.Must(t, err)
	got, err := app.Describe(c)
	testkit.Must(t, err)
	want, err := os.ReadFile("../../../schemas/openapi.json")
	testkit.Must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("schemas/openapi.json is not what the handlers are: make generate")
	}
	var d struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			ID       string                     `json:"operationId"`
			Summary  string                     `json:"summary"`
			Security []map[string][]string      `json:"security"`
			Answers  map[string]json.RawMessage `json:"responses"`
		} `json:"paths"`
	}
	testkit.Must(t, json.Unmarshal(got, &d))
	if !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s", d.OpenAPI)
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if op.ID == "" || op.Summary == "" || op.Answers["default"] == nil ||
				strings.HasPrefix(path, "/v1/") != (len(op.Security) == 1) {
				t.Errorf("%s %s: %+v", method, path, op)
			}
		}
	}
}
