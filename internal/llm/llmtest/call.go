package llmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"cairn/internal/llm"
)

// stageEmbed is the stage of embedding requests that name none.
const stageEmbed = "embed"

// Call is one request as it arrived.
type Call struct {
	Index    int            `json:"index"` // order of arrival, from 0
	Path     string         `json:"path"`  // such as /v1/chat/completions
	Stage    string         `json:"stage,omitempty"`
	Run      string         `json:"run,omitempty"`
	Task     string         `json:"task,omitempty"`
	File     string         `json:"file,omitempty"`
	Last     string         `json:"last,omitempty"`     // text of the last message
	Messages []llm.Message  `json:"messages,omitempty"` // of a chat, with the system message as role "system"
	Tools    []llm.Tool     `json:"tools,omitempty"`    // offered, in order
	Choice   llm.ToolChoice `json:"choice,omitempty"`   // tool_choice where it is a word
	Body     []byte         `json:"body"`               // base64 in JSON
	Time     time.Time      `json:"time"`               // of arrival
	Unknown  bool           `json:"unknown,omitempty"`  // no rule matched
}

// Key identifies what was asked and for what: the key of Paid.
func (c Call) Key() string {
	hash := sha256.New()
	for _, part := range []string{c.Run, c.Stage, c.Task, c.File, string(c.Body)} {
		fmt.Fprintf(hash, "%d:%s", len(part), part) // lengths keep the parts apart
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Results counts the tool results in the conversation.
func (c Call) Results() int {
	n := 0
	for _, m := range c.Messages {
		if m.Role == llm.RoleTool {
			n++
		}
	}
	return n
}

func (c Call) embedding() bool { return strings.HasSuffix(c.Path, "/embeddings") }

// chatRequest is what the server reads of a chat request.
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string   `json:"id"`
			Function function `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function function `json:"function"`
	} `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// function is a tool that is offered, or one that was called.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Arguments   string          `json:"arguments"`
}

// newChat files a chat request.
func newChat(r *http.Request, body []byte, request chatRequest) Call {
	call := newCall(r, body, "")
	for _, m := range request.Messages {
		message := llm.Message{Role: m.Role, Content: textOf(m.Content), CallID: m.ToolCallID}
		for _, made := range m.ToolCalls {
			message.Calls = append(message.Calls, llm.ToolCall{ID: made.ID, Name: made.Function.Name, Arguments: made.Function.Arguments})
		}
		call.Messages = append(call.Messages, message)
		call.Last = message.Content
	}
	for _, offered := range request.Tools {
		call.Tools = append(call.Tools, llm.Tool{Name: offered.Function.Name, Description: offered.Function.Description, Schema: offered.Function.Parameters})
	}
	_ = json.Unmarshal(request.ToolChoice, &call.Choice) // a choice that names a tool is an object
	return call
}

// textOf reads content that is a text or a list of parts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts)
	var joined strings.Builder
	for _, part := range parts {
		joined.WriteString(part.Text)
	}
	return joined.String()
}

func newCall(r *http.Request, body []byte, last string) Call {
	label := func(name string) string {
		value := r.Header.Get("X-Skill-" + name)
		if decoded, err := new(mime.WordDecoder).DecodeHeader(value); err == nil {
			return decoded
		}
		return value
	}
	return Call{
		Path: r.URL.Path, Body: body, Last: last, Time: time.Now(),
		Stage: label("Stage"), Run: label("Run"), Task: label("Task"), File: label("File"),
	}
}
