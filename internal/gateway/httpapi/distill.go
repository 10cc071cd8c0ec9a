package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/service/distill"
)

// DistillRequest is a conversation with its options in one JSON object. An option in
// the query takes precedence over the same option in the object.
type DistillRequest struct {
	Messages  []DistillMessage `json:"messages" doc:"OpenAI chat messages, including tool calls and tool results"`
	Title     string           `json:"title,omitempty" doc:"Title for display; default: the first user message"`
	Mode      string           `json:"mode,omitempty" enum:"full,simple" doc:"full creates scripts and reference documents; simple does not"`
	Gate      string           `json:"gate,omitempty" enum:"auto,memos,off" doc:"Check that decides whether a conversation is worth distilling"`
	Extract   string           `json:"extract,omitempty" enum:"auto,always,never" doc:"always skips the gate, never ends without skills, auto asks the gate"`
	Outcome   string           `json:"outcome,omitempty" enum:"success,failure,unknown" doc:"How the conversation ended; default: what the body states. A failure yields lessons, but no new skill"`
	GiveUp    int              `json:"give_up,omitempty" minimum:"1" maximum:"86400" doc:"Seconds after which a step ends whose model endpoint is unavailable; default: a day"`
	RequestID string           `json:"request_id,omitempty" doc:"ID of the request. Requests with the same ID return the same run. Same as the header Idempotency-Key"`
	Fresh     bool             `json:"fresh,omitempty" doc:"Run a known request again; its model calls are paid again"`
}

// DistillMessage is an OpenAI chat message. Content is a string, null or a list of
// parts. Package intake reads other fields.
type DistillMessage struct {
	Role       string `json:"role" enum:"user,assistant,tool,system"`
	Content    any    `json:"content"`
	Name       string `json:"name,omitempty"`
	ToolCalls  []any  `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type distillInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" doc:"Key of the request. Requests with the same key return the same run"`
	RequestID      string `query:"request_id" maxLength:"200"`
	Mode           string `query:"mode" enum:"full,simple"`
	Gate           string `query:"gate" enum:"auto,memos,off"`
	Extract        string `query:"extract" enum:"auto,always,never"`
	Outcome        string `query:"outcome" enum:"success,failure,unknown"`
	GiveUp         int    `query:"give_up" minimum:"1" maximum:"86400"`
	Fresh          bool   `query:"fresh"`
	Wait           int    `query:"wait" minimum:"0" maximum:"60" doc:"Seconds to wait for the report"`
	Format         string `query:"format" maxLength:"40" doc:"Format of the body, such as anthropic or claude-code; default: detected"`
	AllowUnknown   bool   `query:"allow_unknown" doc:"Accept a body of which more than 5 % has an unknown kind"`
	RawBody        []byte
}

// AcceptedRequest is a request that is stored durably.
type AcceptedRequest struct {
	Run        string                   `json:"run"`
	New        bool                     `json:"new" doc:"False if the request was known; run is then the earlier run"`
	Status     run.Status               `json:"status"`
	WorkflowID string                   `json:"workflow_id"`
	Links      RunLinks                 `json:"links"`
	Report     *distill.Report          `json:"report,omitempty" doc:"Present if the run ended within the wait"`
	Import     *transcript.ImportReport `json:"import,omitempty" doc:"What the body held: its format, and what was kept, skipped and not understood"`
}

type acceptedOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     AcceptedRequest
}

func (g *Gateway) distillRoutes() {
	accepted := content("application/json", schemaOf[AcceptedRequest](g))
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/distill",
		id:      "distill",
		tag:     tagDistill,
		scope:   access.Write,
		status:  http.StatusAccepted,
		summary: "Distill a conversation into skills",
		about: "Takes one conversation: an object with OpenAI chat messages and options, or a session of another " +
			"format, such as Anthropic messages, a Claude Code or Codex session, an OpenAI response, or text with " +
			"`name: text` lines. The format is detected; `import` reports what was kept. Responds when the " +
			"request is stored durably; the run then continues without the client. A request with the same ID or, " +
			"without an ID, with the same content returns the same run.",
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json":     {Schema: schemaOf[DistillRequest](g)},
			"application/x-ndjson": {Schema: text("One message or record per line")},
			"text/plain":           {Schema: text("`user: …` and `assistant: …` lines")}}},
		responses: map[string]*huma.Response{
			"200": {Description: "The run has ended; contains its report", Content: accepted},
			"202": {Description: "Accepted", Content: accepted},
		},
	}, g.distill)
}

func (g *Gateway) distill(ctx context.Context, in *distillInput) (*acceptedOutput, error) {
	options, conversation, report, err := in.decode(ctx)
	if err != nil {
		return nil, err
	}
	from := asking(ctx)
	spec := g.Options.DistillSpec(options.Mode, options.Gate, cmp.Or(options.Extract, transcript.ExtractAuto))
	spec.Outcome = transcript.Verdict(options.Outcome)
	if options.GiveUp > 0 {
		spec.Timing.GiveUp = time.Duration(options.GiveUp) * time.Second
	}
	r, made, err := g.Distill.Accept(ctx, distill.Request{Workspace: from.Workspace.ID,
		WorkspaceKey: from.Workspace.Key, ID: options.RequestID, Conversation: conversation,
		Channel: importChannel, Spec: spec, Fresh: options.Fresh})
	if err != nil {
		return nil, err
	}
	out, err := g.accepted(ctx, r, made, time.Duration(in.Wait)*time.Second)
	if err != nil {
		return nil, err
	}
	out.Body.Import = &report
	return out, nil
}

// maxGiveUp is the longest time for a step with its retries, in seconds.
const maxGiveUp = 86_400

// importChannel is the channel of conversations that are imported as a whole.
const importChannel = "import"

// options reads the options of the body, then those of the query, which override them.
func (in *distillInput) options() (o DistillRequest, err error) {
	var body struct {
		DistillRequest
		Messages json.RawMessage `json:"messages"` // package intake reads them
	}
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal(in.RawBody, &body); errors.As(err, &mistyped) && mistyped.Field != "" {
		return o, fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("invalid type of body.%s: %s", mistyped.Field, mistyped.Value),
			"compare the body with the schema in /openapi.json",
		)
	}
	o = body.DistillRequest // package intake reports other errors with their position
	if in.IdempotencyKey != "" && cmp.Or(in.RequestID, o.RequestID, in.IdempotencyKey) != in.IdempotencyKey {
		return o, fault.New(fault.InvalidArgument, "Idempotency-Key and request_id differ", "send only one of them")
	}
	o.Mode, o.Gate, o.Extract = cmp.Or(in.Mode, o.Mode), cmp.Or(in.Gate, o.Gate), cmp.Or(in.Extract, o.Extract)
	o.Outcome, o.GiveUp = cmp.Or(in.Outcome, o.Outcome), cmp.Or(in.GiveUp, o.GiveUp)
	if o.GiveUp < 0 || o.GiveUp > maxGiveUp {
		return o, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid give_up %d", o.GiveUp),
			fmt.Sprintf("use 1 to %d seconds", maxGiveUp))
	}
	o.RequestID, o.Fresh = cmp.Or(in.RequestID, o.RequestID, in.IdempotencyKey), in.Fresh || o.Fresh
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{{"mode", o.Mode, []string{"full", "simple"}}, {"gate", o.Gate, []string{"auto", "memos", "off"}},
		{"extract", o.Extract, []string{transcript.ExtractAuto, transcript.ExtractAlways, transcript.ExtractNever}},
		{"outcome", o.Outcome, transcript.Verdicts()}} {
		if c.value != "" && !slices.Contains(c.allowed, c.value) {
			return o, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s %q", c.name, c.value),
				"use one of: "+strings.Join(c.allowed, ", "))
		}
	}
	return o, nil
}

// decode reads the options and the conversation.
func (in *distillInput) decode(ctx context.Context) (o DistillRequest, c transcript.Conversation,
	report transcript.ImportReport, err error) {
	release, err := decoding.Begin(ctx, len(in.RawBody))
	if err != nil {
		return o, c, report, err
	}
	defer release()
	if o, err = in.options(); err != nil {
		return o, c, report, err
	}
	c, report, err = in.conversation(o.Title)
	return o, c, report, err
}

// conversation parses the one conversation in the body.
func (in *distillInput) conversation(
	title string,
) (c transcript.Conversation, report transcript.ImportReport, err error) {
	all, err := intake.Read("body", bytes.NewReader(in.RawBody), intake.Options{Format: in.Format,
		Limit: int64(len(in.RawBody)), AllowUnknown: in.AllowUnknown})
	if err != nil {
		return c, report, err
	}
	if n := len(all.Conversations); n != 1 {
		return c, report, fault.New(fault.InvalidArgument, fmt.Sprintf("the body contains %d conversations", n),
			"send one conversation per request, each with its own Idempotency-Key")
	}
	c = all.Conversations[0]
	c.Title = cmp.Or(title, firstWords(c.Messages), c.Title)
	return c, all.Report, nil
}

// firstWords returns the beginning of the first user message as a title for lists.
func firstWords(ms []transcript.Message) string {
	const most = 60
	for _, m := range ms {
		if line := strings.Join(strings.Fields(m.Content), " "); m.FromHuman() && line != "" {
			if r := []rune(line); len(r) > most {
				return string(r[:most-1]) + "…"
			}
			return line
		}
	}
	return ""
}
