package openaitest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// stageEmbed is the stage of embedding requests without a stage header.
const stageEmbed = "embed"

// stageTranscribe is the stage of requests of transcription without a stage header.
const stageTranscribe = "transcribe"

// Call is a received request.
type Call struct {
	Index    int            `json:"index"` // order of arrival, from 0
	Path     string         `json:"path"`  // such as /v1/chat/completions
	Stage    string         `json:"stage,omitempty"`
	Run      string         `json:"run,omitempty"`
	Task     string         `json:"task,omitempty"`
	File     string         `json:"file,omitempty"`
	Last     string         `json:"last,omitempty"`     // text of the last message, without the preceding context
	Messages []llm.Message  `json:"messages,omitempty"` // of a chat, with the system message as role "system"
	Tools    []llm.Tool     `json:"tools,omitempty"`    // offered tools, in order
	Choice   llm.ToolChoice `json:"choice,omitempty"`   // tool_choice, or the name of the required tool
	Body     []byte         `json:"body"`               // base64 in JSON; of a transcription: the recording
	Time     time.Time      `json:"time"`               // of arrival
	Unknown  bool           `json:"unknown,omitempty"`  // no rule matched
}

// Key identifies the content and the label of a request. It is the key of Paid.
func (c Call) Key() string {
	hash := sha256.New()
	for _, part := range []string{c.Run, c.Stage, c.Task, c.File, string(c.Body)} {
		fmt.Fprintf(hash, "%d:%s", len(part), part) // lengths separate the parts
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

func (c Call) transcription() bool { return strings.HasSuffix(c.Path, "/transcriptions") }

// newChat returns the Call of a chat request.
func newChat(r *http.Request, body []byte, asked llm.ParsedRequest) Call {
	call := newCall(r, body, "")
	call.Messages, call.Tools, call.Choice = asked.Messages, asked.Tools, asked.ToolChoice
	if n := len(asked.Messages); n > 0 {
		call.Last = prompt.WithoutContext(asked.Messages[n-1].Content)
	}
	return call
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
