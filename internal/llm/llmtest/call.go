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
)

// stageEmbed is the stage of embedding requests that name none.
const stageEmbed = "embed"

// Call is one request as it arrived.
type Call struct {
	Index   int       `json:"index"` // order of arrival, from 0
	Path    string    `json:"path"`  // such as /v1/chat/completions
	Stage   string    `json:"stage,omitempty"`
	Run     string    `json:"run,omitempty"`
	Task    string    `json:"task,omitempty"`
	File    string    `json:"file,omitempty"`
	Last    string    `json:"last,omitempty"`    // text of the last message
	Body    []byte    `json:"body"`              // base64 in JSON
	Time    time.Time `json:"time"`              // of arrival
	Unknown bool      `json:"unknown,omitempty"` // no rule matched
}

// Key identifies what was asked and for what: the key of Paid.
func (c Call) Key() string {
	hash := sha256.New()
	for _, part := range []string{c.Run, c.Stage, c.Task, c.File, string(c.Body)} {
		fmt.Fprintf(hash, "%d:%s", len(part), part) // lengths keep the parts apart
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func (c Call) embedding() bool { return strings.HasSuffix(c.Path, "/embeddings") }

// chatRequest is what the server reads of a chat request.
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r chatRequest) last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	content := r.Messages[len(r.Messages)-1].Content
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
