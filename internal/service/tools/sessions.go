package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/service/intake"
)

// importArgs is a session file to import.
type importArgs struct {
	Session      string `json:"session" jsonschema:"whole text of the session file, unchanged"`
	Name         string `json:"name,omitempty" jsonschema:"name of the file; some formats are recognized by it"`
	Format       string `json:"format,omitempty" jsonschema:"format of the text; detected if omitted"`
	AllowUnknown bool   `json:"allow_unknown,omitempty" jsonschema:"accept a text of which more than 5 % has an unknown kind"`
	Distill      bool   `json:"distill,omitempty" jsonschema:"also distill the conversations into skills"`
	Outcome      string `json:"outcome,omitempty" jsonschema:"how the session ended, if the user said so; only with distill"`
}

func (importArgs) Bound(p map[string]*jsonschema.Schema) {
	p["session"].MinLength = jsonschema.Ptr(1)
	p["name"].MaxLength = jsonschema.Ptr(200)
	for _, f := range format.Formats() {
		p["format"].Enum = append(p["format"].Enum, f.Name)
	}
	p["outcome"].Enum = words(transcript.Verdicts()...)
}

// States of an import.
const (
	importAccepted = "accepted" // the file is stored, and its conversations follow
	importStored   = "stored"   // the conversations are stored, too
)

type importResult struct {
	ID     int64                   `json:"import_id" jsonschema:"ID of the import; read it at /v1/imports of the API"`
	State  string                  `json:"state" jsonschema:"accepted: the conversations follow within seconds; stored: they are stored"`
	New    bool                    `json:"new" jsonschema:"false if the workspace already has the same text"`
	Report transcript.ImportReport `json:"report" jsonschema:"what was kept, skipped and not understood"`
}

// Sessions returns the tool with which other programs import the sessions of agents.
func Sessions(s *intake.Service) (Tool, error) {
	return New(agent.ToolSpec{Name: "import_session", Class: agent.Fast, Origins: outsiders,
		Larger: "import the file with `cairn import FILE`, or send it to POST /v1/imports",
		Description: "Import a session that an agent program wrote, such as a session file of Claude Code or Codex, " +
			"or an exported chat. The call stores the text; its conversations follow in the background. With " +
			"distill, Cairn also learns skills from them. The same text is imported once."},
		func(ctx context.Context, a agent.Actor, in importArgs) (out importResult, err error) {
			if strings.HasPrefix(in.Session, "PK\x03\x04") {
				return out, fault.New(fault.InvalidArgument, "session is an archive",
					"send the text of one session file; `cairn import FILE` reads archives")
			}
			made, err := s.Import(ctx, intake.Upload{Workspace: a.Workspace, Name: in.Name,
				Content: strings.NewReader(in.Session), Distill: in.Distill, Outcome: transcript.Verdict(in.Outcome),
				Options: intake.Options{Format: in.Format, AllowUnknown: in.AllowUnknown}})
			if err != nil {
				return out, asArguments(err)
			}
			if len(made.Imports) != 1 {
				return out, fmt.Errorf("one session file became %d imports", len(made.Imports))
			}
			one := made.Imports[0]
			out = importResult{ID: one.ID, State: importAccepted, New: one.New, Report: made.Report}
			if one.StoredAt != nil {
				out.State = importStored
			}
			return out, nil
		})
}

// flagsAsArguments replaces flags of commands in hints by the arguments of the tool.
var flagsAsArguments = strings.NewReplacer("--format NAME", "the argument format", "--allow-unknown",
	"\"allow_unknown\": true")

// asArguments changes the hint of an error for callers of the tool.
func asArguments(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || !slices.ContainsFunc([]string{"--format", "--allow-unknown"}, func(flag string) bool {
		return strings.Contains(f.Hint, flag)
	}) {
		return err
	}
	changed := *f
	changed.Hint = flagsAsArguments.Replace(f.Hint)
	return &changed
}
