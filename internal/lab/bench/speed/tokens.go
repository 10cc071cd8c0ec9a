package speed

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/fakes/openaitest"
)

// pieces are those into which tokenizers divide text before they join letters.
var pieces = regexp.MustCompile(` ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+`)

// count returns the tokens of a text. Words of up to eight letters are one token, and so are three signs.
func count(text string) (n int) {
	for _, piece := range pieces.FindAllString(text, -1) {
		bare := strings.TrimPrefix(piece, " ")
		first, _ := utf8.DecodeRuneInString(bare)
		size := 3
		if first >= 'A' && first <= 'z' {
			size = 8
		}
		n += (utf8.RuneCountInString(bare) + size - 1) / size
		if bare == "" {
			n++
		}
	}
	return n
}

// raw returns the tokens of a transcript, as an agent's model has read it.
func raw(c transcript.Conversation) (n int) {
	for _, m := range c.Messages {
		n += count(m.Content)
		for _, call := range m.ToolCalls {
			n += count(call.Name) + count(call.Arguments)
		}
	}
	return n
}

// endpoint counts the tokens of requests. If it caches, it keeps the marked prefixes.
type endpoint struct {
	caches bool

	mu       sync.Mutex
	prefixes map[string]int // tokens by text
	requests []llm.Usage
	err      error // of a request that it cannot read
}

// Shares of the price of the input.
const (
	readPrice    = .1
	writtenPrice = 1.25
	minCached    = 1024 // tokens of a prefix that an endpoint caches
)

// use returns the usage of a call.
func (e *endpoint) use(call openaitest.Call, reply string) llm.Usage {
	text, prefix, err := prompts(call.Body)
	u := llm.Usage{Input: count(text), Output: count(reply)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.err = err
	}
	if size := count(prefix); e.caches && size >= minCached {
		if known, ok := e.prefixes[prefix]; ok {
			u.Cached = known
		} else {
			e.prefixes[prefix], u.Written = size, size
		}
	}
	e.requests = append(e.requests, u)
	return u
}

// prompts returns the text of a request, and its part up to the mark.
func prompts(body []byte) (text, prefix string, err error) {
	var in struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return "", "", fmt.Errorf("decode a request: %w", err)
	}
	var out strings.Builder
	for _, m := range in.Messages {
		out.WriteString("\n" + m.Role + "\n")
		var whole string
		if json.Unmarshal(m.Content, &whole) == nil {
			out.WriteString(whole)
			continue
		}
		var parts []struct {
			Text string
			Mark json.RawMessage `json:"prompt_cache_breakpoint"`
		}
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			return "", "", fmt.Errorf("decode the content of a message: %w", err)
		}
		for _, part := range parts {
			out.WriteString(part.Text)
			if part.Mark != nil {
				prefix = out.String()
			}
		}
	}
	return out.String(), prefix, nil
}
