package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/service/intake"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// distills keeps what is distilled.
type distills struct{ specs []distill.Spec }

func (d *distills) Accept(_ context.Context, r distill.Request) (run.Run, bool, error) {
	d.specs = append(d.specs, r.Spec)
	return run.Run{}, true, nil
}

// importer is the tool import_session over a fresh database.
type importer struct {
	*tools.Registry
	*distills
	db      *pgtest.Store
	service *intake.Service
}

func openImporter(t *testing.T) importer {
	t.Helper()
	i := importer{db: pgtest.Open(t), distills: &distills{}}
	var err error
	i.service = intake.New(intake.Ports{Store: i.db.Imports(), Distills: i.distills,
		DistillSpec: func() distill.Spec { return distill.Spec{} }})
	tool, err := tools.Sessions(i.service)
	testkit.Must(t, err)
	i.Registry, err = tools.NewRegistry(tool)
	testkit.Must(t, err)
	return i
}

// imported is a result of the tool.
type imported struct {
	OK     bool
	ID     int64 `json:"import_id"`
	State  string
	New    bool
	Report transcript.ImportReport
	Error  struct {
		Code          fault.Code
		Message, Hint string
	}
}

func (i importer) call(t *testing.T, arguments map[string]any) (out imported) {
	t.Helper()
	raw, err := json.Marshal(arguments)
	testkit.Must(t, err)
	r, err := i.Call(t.Context(), agent.Actor{Workspace: i.db.A.ID, Origin: agent.OriginAgent}, "import_session", raw)
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(r.JSON, &out))
	return out
}

const keySession = `[{"role":"user","content":"Where is the key?"},{"role":"assistant","content":"Under the mat."}]`

func TestASessionIsImportedOnce(t *testing.T) {
	i := openImporter(t)
	first := i.call(t, map[string]any{"session": keySession, "name": "key.json"})
	if !first.OK || first.ID == 0 || first.State != "accepted" || !first.New || first.Report.Messages != 2 {
		t.Fatalf("imported %+v", first)
	}
	testkit.Must(t, i.service.StoreConversations(t.Context(), i.db.A, first.ID))
	again := i.call(t, map[string]any{"session": keySession, "name": "other.json"})
	if again.ID != first.ID || again.New || again.State != "stored" {
		t.Errorf("again %+v", again)
	}
	if n := i.db.Number(`select count(*) from conversations`); n != 1 || len(i.specs) != 0 {
		t.Errorf("%d conversations, %d distillations", n, len(i.specs))
	}
}

func TestAnImportedSessionIsDistilledWithItsOutcome(t *testing.T) {
	i := openImporter(t)
	made := i.call(t, map[string]any{"session": keySession, "format": "openai-chat", "distill": true,
		"outcome": "failure"})
	if !made.OK || made.Report.Format != "openai-chat" {
		t.Fatalf("imported %+v", made)
	}
	testkit.Must(t, i.service.StoreConversations(t.Context(), i.db.A, made.ID))
	if len(i.specs) != 1 || i.specs[0].Outcome != transcript.Failure {
		t.Errorf("distilled %+v", i.specs)
	}
}

func TestABadSessionIsRefusedWithAHintForTheTool(t *testing.T) {
	i := openImporter(t)
	for name, c := range map[string]struct {
		arguments map[string]any
		code      fault.Code
		hint      string
	}{
		"no text":        {map[string]any{}, fault.InvalidArgument, "correct the arguments"},
		"unknown format": {map[string]any{"session": `{"plan": 1}`}, fault.InvalidArgument, "with the argument format"},
		"unknown parts": {map[string]any{"session": `[{"role":"user","content":[{"type":"odd"}]}]`},
			fault.InvalidArgument, `"allow_unknown": true`},
		"odd format": {map[string]any{"session": keySession, "format": "odd"}, fault.InvalidArgument,
			"correct the arguments"},
		"damaged": {map[string]any{"session": `[{"role":"user",`}, fault.InvalidArgument, ""},
		"archive": {map[string]any{"session": "PK\x03\x04x"}, fault.InvalidArgument, "one session file"},
		"outcome alone": {map[string]any{"session": keySession, "outcome": "success"}, fault.InvalidArgument,
			"set distill to true"},
		"too large": {map[string]any{"session": strings.Repeat("x", 600<<10)}, fault.TooLarge, "POST /v1/imports"},
	} {
		got := i.call(t, c.arguments)
		if got.OK || got.Error.Code != c.code || !strings.Contains(got.Error.Hint, c.hint) ||
			strings.Contains(got.Error.Hint, "--") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if n := i.db.Number(`select count(*) from imports`); n != 0 {
		t.Errorf("%d imports are stored", n)
	}
}
