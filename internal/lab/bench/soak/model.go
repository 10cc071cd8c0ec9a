package soak

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/fakes/openaitest"
)

// markIn matches the result of talk.mark.
var markIn = regexp.MustCompile(`c\d{4}-t\d{2}`)

// Beginnings of a reply, of a memory of a turn and of a memory of a review. The mark and the
// number of the request follow.
const (
	answerHead = "I am well, "
	turnHead   = "The user likes the blue of "
	reviewHead = "The user talked about "
)

// script makes the server reply based only on the request.
func script(server *openaitest.Server, delay time.Duration) {
	server.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "please remember", Delay: delay,
		CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			return call(c, "memory_save", map[string]any{"store": "core",
				"content": fmt.Sprintf("%s%s #%d", turnHead, markIn.FindString(c.Last), c.Index)})
		}})
	server.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "please look up", Delay: delay,
		CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			return call(c, "memory_search", map[string]any{"query": "what does the user like"})
		}})
	server.On(openaitest.Rule{Stage: "turn", Delay: delay, ReplyFunc: func(c openaitest.Call) string {
		return fmt.Sprintf("%s%s #%d", answerHead, asked(c), c.Index)
	}})
	server.On(openaitest.Rule{Stage: "nudge", Results: new(0), Delay: delay,
		CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			return call(c, "memory_save", map[string]any{"store": "core",
				"content": fmt.Sprintf("%s%s #%d", reviewHead, reviewed(c), c.Index)})
		}})
	server.On(openaitest.Rule{Stage: "nudge", Delay: delay, Reply: "Nothing else to save."})
}

func call(c openaitest.Call, tool string, arguments any) []llm.ToolCall {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // cannot fail for maps of strings
	}
	return []llm.ToolCall{{ID: fmt.Sprintf("call-%d", c.Index), Name: tool, Arguments: string(raw)}}
}

// asked returns the mark of the current message.
func asked(c openaitest.Call) string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if m := c.Messages[i]; m.Role == llm.RoleUser {
			return markIn.FindString(m.Content)
		}
	}
	return ""
}

// reviewed returns the mark of the last user message in a review.
func reviewed(c openaitest.Call) string {
	m, err := prompt.ReadMaterial(c.Last)
	if err != nil {
		return "no material: " + err.Error() // the audit reports the missing memory
	}
	for i := len(m.Messages) - 1; i >= 0; i-- {
		if m.Messages[i].Role == "user" {
			return markIn.FindString(m.Messages[i].Content)
		}
	}
	return ""
}

// markAfter returns the mark in a text of the script that begins with head.
func markAfter(text, head string) (mark string, ok bool) {
	rest, ok := strings.CutPrefix(text, head)
	mark, _, numbered := strings.Cut(rest, " #")
	return mark, ok && numbered
}
