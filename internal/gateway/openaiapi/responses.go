package openaiapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/completion"
)

// Prefixes of the IDs of a run and of the response that it gives.
const (
	runPrefix      = "run_"
	responsePrefix = "resp_"
)

// Statuses of a response.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
	cancelled  = "cancelled"
)

// response is the body of a response. The members up to Metadata repeat the request, and are stored with it.
type response struct {
	ID           string          `json:"id"`
	Object       string          `json:"object"`
	CreatedAt    int64           `json:"created_at"` // Unix time in seconds
	Status       string          `json:"status"`
	Background   bool            `json:"background"`
	Instructions *string         `json:"instructions"`
	MaxOutput    *int            `json:"max_output_tokens"`
	Model        string          `json:"model"`
	Parallel     bool            `json:"parallel_tool_calls"`
	Previous     *string         `json:"previous_response_id"`
	Reasoning    json.RawMessage `json:"reasoning"`
	Store        bool            `json:"store"`
	Temperature  *float64        `json:"temperature"`
	Text         json.RawMessage `json:"text"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Tools        json.RawMessage `json:"tools"`
	TopP         *float64        `json:"top_p"`
	Truncation   string          `json:"truncation"`
	User         *string         `json:"user"`
	Metadata     json.RawMessage `json:"metadata"`

	Conversation *named         `json:"conversation,omitempty"`
	Error        *responseError `json:"error"`
	Incomplete   *why           `json:"incomplete_details"`
	Output       []any          `json:"output"`
	Usage        *responseUsage `json:"usage"`
}

type named struct {
	ID string `json:"id"`
}

type why struct {
	Reason string `json:"reason"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type responseUsage struct {
	Input         int64       `json:"input_tokens"`
	InputDetails  countCached `json:"input_tokens_details"`
	Output        int64       `json:"output_tokens"`
	OutputDetails countReason `json:"output_tokens_details"`
	Total         int64       `json:"total_tokens"`
}

// Cairn does not count these tokens apart.
type (
	countCached struct {
		Cached int64 `json:"cached_tokens"`
	}
	countReason struct {
		Reasoning int64 `json:"reasoning_tokens"`
	}
)

// outputMessage is the text of a reply.
type outputMessage struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"` // always empty
	LogProbs    []any  `json:"logprobs"`    // always empty
}

// outputCall is a call of a tool of the client.
type outputCall struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// respond answers POST /v1/responses.
func (c *call) respond() error {
	var in responseRequest
	members, err := c.body(&in)
	if err != nil {
		return err
	}
	r, shown, err := c.responseRequest(in, members)
	if err != nil {
		return err
	}
	form := responseForm{shown: shown}
	if in.Background && !in.Stream {
		return c.begin(r, in.Model, form)
	}
	err = c.serveTurn(r, in.Model, in.Stream, form)
	if r.After != "" && fault.CodeOf(err) == fault.NotFound {
		return &failure{Status: http.StatusBadRequest, Type: invalidRequest, Code: "previous_response_not_found",
			Param: "previous_response_id", Message: fmt.Sprintf("previous response %q not found", *shown.Previous)}
	}
	return err
}

// begin stores a request and starts its turn, without waiting for the reply.
func (c *call) begin(r completion.Request, model string, form responseForm) error {
	t, err := c.accept(r, model, form)
	if err != nil {
		return err
	}
	now, err := t.status()
	if err != nil {
		return err
	}
	return t.showNow(now, form)
}

// responseForm writes replies as responses.
type responseForm struct {
	shown response
	first int // number of the first event that a stream sends
}

func (f responseForm) background() bool { return f.shown.Background }

func (f responseForm) resumes() bool { return f.first > 0 }

func (f responseForm) whole(t *turn, r completion.Reply) any { return f.ended(t, r) }

func (f responseForm) sink(t *turn, e *edge.Stream) sink {
	s := &responseSink{turn: t, events: e, form: f}
	if f.background() || f.first > 0 { // the client needs the ID
		_ = s.open() // an error comes again with the next event
	}
	return s
}

// begun returns the response before its end.
func (f responseForm) begun(t *turn) response {
	out := f.shown
	out.ID, out.Object = responsePrefix+strings.TrimPrefix(t.Ref().Run, runPrefix), "response"
	out.CreatedAt, out.Status, out.Output = t.created.Unix(), inProgress, []any{}
	out.Conversation = &named{t.Accepted.Request.Conversation}
	return out
}

// ended returns the response after its end.
func (f responseForm) ended(t *turn, r completion.Reply) response {
	out := f.begun(t)
	id := strings.TrimPrefix(t.Ref().Run, runPrefix)
	if r.Text != "" || len(r.Calls) == 0 {
		out.Output = append(out.Output, messageOf(id, r.Text, completed))
	}
	for i, made := range r.Calls {
		out.Output = append(out.Output, outputCall{fmt.Sprintf("fc_%s_%d", id, i), "function_call", completed, made.ID,
			made.Name, made.Arguments})
	}
	out.Usage = &responseUsage{Input: r.Input, Output: r.Output, Total: r.Input + r.Output}
	out.Status = completed
	switch {
	case r.Reason == agent.Interrupted:
		out.Status = cancelled
	case r.Finish == "length":
		out.Status, out.Incomplete = incomplete, &why{"max_output_tokens"}
	case r.Finish == "content_filter":
		out.Status, out.Incomplete = incomplete, &why{r.Finish}
	}
	return out
}

// failed returns the response of a turn without a reply of a model.
func (f responseForm) failed(t *turn, cause *failure) response {
	out := f.begun(t)
	out.Status, out.Error = failed, &responseError{cmp.Or(cause.Code, serverError), cause.Message}
	return out
}

func messageOf(id, text, status string) outputMessage {
	out := outputMessage{ID: "msg_" + id, Type: "message", Status: status, Role: "assistant", Content: []outputText{}}
	if status == completed {
		out.Content = append(out.Content, textPart(text))
	}
	return out
}

func textPart(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []any{}, LogProbs: []any{}}
}

// stored returns the turn of the response that the route names.
func (c *call) stored() (*turn, responseForm, error) {
	var form responseForm
	id := c.r.PathValue("id")
	ref := run.Ref{Workspace: c.from.Workspace.ID, Run: runOf(id)}
	found, err := c.Completions.Response(c.r.Context(), ref)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, form, &failure{Status: http.StatusNotFound, Type: invalidRequest, Code: "response_not_found",
			Param: "id", Message: fmt.Sprintf("response %.80q not found", id)}
	}
	if err == nil {
		err = json.Unmarshal(found.Shown, &form.shown)
	}
	if err != nil {
		return nil, form, fmt.Errorf("read the response: %w", err)
	}
	return &turn{call: c, Accepted: completion.AcceptedResponse(found, c.from.Workspace.Key), form: form,
		model:   form.shown.Model,
		created: found.CreatedAt}, form, nil
}

// runOf returns the ID of the run that gives a response.
func runOf(id string) string {
	if rest, ok := strings.CutPrefix(id, responsePrefix); ok {
		return runPrefix + rest
	}
	return id
}

// showResponse answers GET /v1/responses/{id}.
func (c *call) showResponse() error {
	t, form, err := c.stored()
	if err != nil {
		return err
	}
	query := c.r.URL.Query()
	if query.Get("stream") == "true" {
		if after := query.Get("starting_after"); after != "" {
			number, err := strconv.Atoi(after)
			if err != nil || number < 0 {
				return invalid("starting_after", "starting_after is %.40q, must be the number of an event", after)
			}
			form.first = number + 1
		}
		to, err := c.open()
		if err != nil {
			return err
		}
		defer to.Close()
		t.form = form
		return t.stream(to)
	}
	now, err := t.status()
	if err != nil {
		return err
	}
	return t.showNow(now, form)
}

// showNow writes the response in its current state.
func (t *turn) showNow(now conversation.TurnStatus, form responseForm) error {
	body := form.begun(t)
	if now.Status == conversation.StatusEnded {
		reply, err := t.reply(now)
		var without *failure
		switch {
		case errors.As(err, &without) || isModelFault(err):
			body = form.failed(t, t.failureOf("show a response", err))
		case err != nil:
			return err
		default:
			body = form.ended(t, reply)
		}
	}
	edge.WriteJSON(t.w, http.StatusOK, body)
	return nil
}

// deleteResponse answers DELETE /v1/responses/{id}.
func (c *call) deleteResponse() error {
	t, _, err := c.stored()
	if err != nil {
		return err
	}
	if err := c.Completions.Delete(c.r.Context(), t.Ref()); err != nil {
		return err
	}
	edge.WriteJSON(c.w, http.StatusOK, map[string]any{"id": c.r.PathValue("id"), "object": "response", "deleted": true})
	return nil
}

// cancelPatience is the time to wait for the end of a canceled turn.
const cancelPatience = 10 * time.Second

// cancelResponse answers POST /v1/responses/{id}/cancel.
func (c *call) cancelResponse() error {
	t, form, err := c.stored()
	if err != nil {
		return err
	}
	if !form.background() {
		return invalid("id", "only a response with background can be canceled; end the request of the others")
	}
	request := t.Accepted.Request
	if _, err := c.Turns.Cancel(c.r.Context(), c.from.Workspace, request.Conversation, request.MessageID); err != nil {
		return err
	}
	var now conversation.TurnStatus
	_, err = c.Await(c.r.Context(), t.Ref(), cancelPatience, func() (s run.Status, err error) {
		now, err = t.status()
		return run.Status(now.Status), err
	})
	if err != nil {
		return err
	}
	return t.showNow(now, form)
}
