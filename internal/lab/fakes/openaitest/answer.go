package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"cairn/internal/domain/llm"
)

// chunkRunes is the amount of text in one streamed event, in runes.
const chunkRunes = 24

// completion is a chat response before it is written.
type completion struct {
	call    Call
	rule    Rule
	request llm.ParsedRequest
	text    string
	calls   []llm.ToolCall
}

// fail applies a fault of the rule that replaces the response. It reports whether there was one.
func fail(w http.ResponseWriter, rule Rule) bool {
	if rule.RetryAfter != "" {
		w.Header().Set("Retry-After", rule.RetryAfter)
	}
	switch {
	case rule.Drop:
		cut(w)
	case rule.Status != 0 && rule.Status != http.StatusOK:
		if json.Valid([]byte(rule.Reply)) && strings.HasPrefix(rule.Reply, "{") {
			writeBody(w, rule.Status, "application/json", []byte(rule.Reply))
		} else {
			writeError(w, rule.Status, rule.Reply)
		}
	case rule.Malformed:
		writeBody(w, http.StatusOK, "application/json",
			[]byte(`{"id":"chatcmpl-0","choices":[{"index":0,"message":{"role":"assist`))
	default:
		return false
	}
	return true
}

// write reports whether the whole response was sent.
func (c completion) write(w http.ResponseWriter) bool {
	body, kind := c.render()
	return writeBody(w, http.StatusOK, kind, body)
}

// writeHalf sends the first half of the response and cuts the connection.
func (c completion) writeHalf(w http.ResponseWriter) {
	body, kind := c.render()
	cutHalfway(w, kind, body)
}

// render returns the body and its content type.
func (c completion) render() (body []byte, kind string) {
	if c.request.Stream {
		return c.stream(), "text/event-stream"
	}
	return c.plain(), "application/json"
}

func (c completion) plain() []byte {
	var refusal any
	if c.rule.Refusal != "" {
		refusal = c.rule.Refusal
	}
	message := map[string]any{"role": "assistant", "content": c.text, "refusal": refusal}
	if len(c.calls) > 0 {
		message["tool_calls"] = c.wireCalls()
	}
	answer := c.frame("chat.completion", "message", message, c.finish())
	if usage := c.usage(); usage != nil {
		answer["usage"] = usage
	}
	return mustJSON(answer)
}

// stream renders the response as server-sent events.
func (c completion) stream() []byte {
	var events strings.Builder
	event := func(value any) { fmt.Fprintf(&events, "data: %s\n\n", mustJSON(value)) }
	const object, field = "chat.completion.chunk", "delta"
	event(c.frame(object, field, map[string]any{"role": "assistant"}, nil))
	for text := []rune(c.text); len(text) > 0; {
		n := min(chunkRunes, len(text))
		event(c.frame(object, field, map[string]any{"content": string(text[:n])}, nil))
		text = text[n:]
	}
	if len(c.calls) > 0 {
		event(c.frame(object, field, map[string]any{"tool_calls": c.wireCalls()}, nil))
	}
	if c.rule.Refusal != "" {
		event(c.frame(object, field, map[string]any{"refusal": c.rule.Refusal}, nil))
	}
	event(c.frame(object, field, map[string]any{}, c.finish()))
	if usage := c.usage(); c.request.IncludeUsage && usage != nil {
		last := c.frame(object, field, map[string]any{}, nil)
		last["choices"], last["usage"] = []any{}, usage
		event(last)
	}
	events.WriteString("data: [DONE]\n\n")
	return []byte(events.String())
}

func (c completion) frame(object, field string, message map[string]any, finish any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", c.call.Index), "object": object, "created": c.call.Time.Unix(),
		"model":   c.request.Model,
		"choices": []any{map[string]any{"index": 0, field: message, "finish_reason": finish}},
	}
}

func (c completion) finish() string {
	if c.rule.Finish == "" && len(c.calls) > 0 {
		return "tool_calls"
	}
	return cmp.Or(c.rule.Finish, "stop")
}

// wireCalls renders the tool calls in an endpoint's format. A call without an ID is rendered
// without one.
func (c completion) wireCalls() []any {
	var out []any
	for i, call := range c.calls {
		made := map[string]any{"index": i, "type": "function",
			"function": map[string]any{"name": call.Name, "arguments": call.Arguments}}
		if call.ID != "" {
			made["id"] = call.ID
		}
		out = append(out, made)
	}
	return out
}

func (c completion) usage() map[string]any {
	usage := llm.Usage{Input: llm.EstimateTokens(string(c.call.Body)),
		Output: llm.EstimateTokens(c.text + calledText(c.calls))}
	if c.rule.Usage != nil {
		usage = *c.rule.Usage
	}
	if c.rule.UsageFunc != nil {
		usage = c.rule.UsageFunc(c.call, c.text)
	}
	if usage == (llm.Usage{}) {
		return nil
	}
	out := map[string]any{"prompt_tokens": usage.Input, "completion_tokens": usage.Output,
		"total_tokens": usage.Input + usage.Output}
	if usage.Cached+usage.Written > 0 {
		out["prompt_tokens_details"] = map[string]any{"cached_tokens": usage.Cached,
			"cache_write_tokens": usage.Written}
	}
	return out
}

func calledText(calls []llm.ToolCall) string {
	var text strings.Builder
	for _, call := range calls {
		text.WriteString(call.Name + call.Arguments)
	}
	return text.String()
}

// cut closes the connection before the response.
func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 and recorders cannot be hijacked
	}
	_ = connection.Close()
}

// cutHalfway announces the whole body and sends half of it.
func cutHalfway(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	writeBody(w, http.StatusOK, kind, body[:len(body)/2])
	cut(w)
}

// writeBody reports whether the body was written to the connection.
func writeBody(w http.ResponseWriter, status int, kind string, body []byte) bool {
	w.Header().Set("Content-Type", kind)
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	writeBody(w, status, "application/json", mustJSON(value))
}

func writeError(w http.ResponseWriter, status int, message string) {
	if message == "" {
		message = fmt.Sprintf("scripted failure %d", status)
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": "scripted", "code": nil,
		"param": nil}})
}

func mustJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of strings and numbers always marshal
	}
	return data
}
