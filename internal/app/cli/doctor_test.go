package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/openaitest"
)

// examineEmbedder decides what doctor shows of the embedder and how it exits.
func TestDoctorExaminesTheEmbedder(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t)
	c := config.Config{EmbeddingBaseURL: server.URL, EmbeddingModel: "m", EmbeddingDimensions: openaitest.DefaultDims}
	if found, err := examineEmbedder(t.Context(), c); err != nil || found.Status != "ok" {
		t.Errorf("a working model: %+v, %v", found, err)
	}
	server.WrongDimension(true)
	found, err := examineEmbedder(t.Context(), c)
	if f := fault.From(err); fault.Table[f.Code].Exit != 8 || !strings.Contains(f.Error(), "65") ||
		!strings.Contains(f.Error(), "64") || !strings.Contains(f.Hint, "export CAIRN_EMBEDDING_DIMENSIONS=65") {
		t.Errorf("a wrong dimension: %v, hint %q", err, f.Hint)
	}
	if found.Status != "failed" {
		t.Errorf("a wrong dimension: %+v", found)
	}
	c.EmbeddingBaseURL = "http://127.0.0.1:1/v1"
	if found, err := examineEmbedder(t.Context(), c); err != nil || found.Status != "failed" {
		t.Errorf("an endpoint that is down: %+v, %v", found, err)
	}
	if found, err := examineEmbedder(t.Context(), config.Config{}); err != nil || found.Version != "hashing" {
		t.Errorf("hashing: %+v, %v", found, err)
	}
}

func TestDoctorNamesModelsWithoutAPrice(t *testing.T) {
	t.Parallel()
	w := idle(t)
	w.environ = append(w.environ, "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "CAIRN_MODEL=gpt-4o-mini",
		"CAIRN_MODEL_NUDGE=house-model")
	_, out, errs := w.run("", "doctor")
	if !strings.Contains(out, "the price of house-model is unknown") {
		t.Errorf("%s%s", out, errs)
	}
	w.environ = append(w.environ, `CAIRN_PRICES={"house-model":{"input_micros":0,"output_micros":0}}`)
	if _, out, _ = w.run("", "doctor"); strings.Contains(out, "is unknown") {
		t.Errorf("with a price: %s", out)
	}
}

func TestDoctorSaysHowMemoryOfCommandsIsLimited(t *testing.T) {
	t.Parallel()
	f := examineSandbox(t.Context(), config.Config{Shell: true})
	if f.Status == "ok" && !strings.Contains(f.Hint, "cgroup") {
		t.Errorf("%+v", f)
	}
	if f := examineSandbox(t.Context(), config.Config{}); strings.Contains(f.Hint, "memory is added up") {
		t.Errorf("commands are off: %+v", f)
	}
}

// The budget of connections is compared with the limit of the server.
func TestDoctorCountsConnections(t *testing.T) {
	t.Parallel()
	w := idle(t)
	code, out, errs := w.run("", "doctor", "--connections", "--workers", "2", "--gateways", "1", "--others", "10",
		"-o", "json")
	var got struct {
		PerProcess int `json:"per_process"`
		Needed     int `json:"needed"`
		Available  int `json:"available"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.PerProcess != 21 ||
		got.Needed != 3*21+10 || got.Available < got.Needed {
		t.Errorf("exit %d, %+v: %s", code, got, errs)
	}
	code, out, errs = w.run("", "doctor", "--connections", "--workers", "1000")
	if code != 8 || !strings.Contains(out, "1000 x 21") || !strings.Contains(errs, "max_connections") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs = w.run("", "doctor", "--connections", "--workers", "-1"); code != 2 {
		t.Errorf("exit %d: %s", code, errs)
	}
}
