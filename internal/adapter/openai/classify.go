package openai

import (
	"bytes"
	"cairn/internal/domain/llm"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds how long an endpoint can make us wait.
const maxRetryAfter = time.Minute

// messageLimit is how much of an endpoint's own words a message carries, in bytes.
const messageLimit = 600

var (
	// Wordings of OpenAI, Azure, vLLM, llama.cpp, Anthropic, Gemini and Groq.
	tooLong = regexp.MustCompile(`(?i)context.?length|context window|context size|maximum context|too many tokens|` +
		`prompt is too long|input is too long|input token count|reduce the length|request too large|上下文长度|输入过长`)
	outOfMoney = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit|exceeded your current ` +
		`quota|insufficient (balance|credits?)|余额不足|欠费`)
	optionTalk = regexp.MustCompile(`(?i)tool_choice|tool choice|temperature|reasoning_effort`)
	schemaTalk = regexp.MustCompile(`(?i)response_format|json_schema|json_object|structured output`)
)

// endpointError is the "error" object of an answer; its code is a string or a
// number, depending on who answers.
type endpointError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"`
	Param   string `json:"param"`
}

// rejected classes an answer that is not 2xx. request is what was sent.
func (e *Endpoint) rejected(answer *http.Response, request []byte) *llm.Error {
	contents, _ := io.ReadAll(answer.Body)
	said := readEndpointError(contents)
	failure := &llm.Error{
		Class:      classOf(answer.StatusCode, said, request),
		Status:     answer.StatusCode,
		RetryAfter: retryAfter(answer.Header, time.Now()),
		Sent:       true,
		Message: fmt.Sprintf("the model endpoint answered %d %s: %s", answer.StatusCode,
			http.StatusText(answer.StatusCode),
			e.masked(said.Message)),
	}
	if place := answer.Header.Get("Location"); place != "" && answer.StatusCode < 400 {
		failure.Message += "redirected to " + place + ", which is not followed"
	}
	switch answer.Header.Get("X-Should-Retry") {
	case "true":
		failure.Class = llm.Retryable
	case "false":
		if failure.Class == llm.Retryable {
			failure.Class = llm.Fatal
		}
	}
	return failure
}

// has tells whether a request sets a parameter. Inside a message the quotes
// would be escaped.
func has(request []byte, parameter string) bool {
	return bytes.Contains(request, []byte(`"`+parameter+`":`))
}

// classOf says what an answer to request means; a parameter can only be to
// blame when the request has it.
func classOf(status int, said endpointError, request []byte) llm.Class {
	words := fmt.Sprint(said.Message, " ", said.Type, " ", said.Code, " ", said.Param)
	switch {
	case status == 401 || status == 402 || status == 403:
		return llm.Auth
	case status == 429 && outOfMoney.MatchString(words):
		return llm.Auth
	case status == 413, (status == 400 || status == 422) && tooLong.MatchString(words):
		return llm.ContextLength
	case (status == 400 || status == 422) && has(request, "response_format") && schemaTalk.MatchString(words):
		return llm.NoSchema
	case (status == 400 || status == 422) &&
		(has(request, "tool_choice") || has(request, "temperature") || has(request, "reasoning_effort")) &&
		optionTalk.MatchString(words):
		return llm.NoOption
	case status == 408 || status == 409 || status == 429:
		return llm.Retryable
	case status >= 500 && status != 501:
		return llm.Retryable
	default:
		return llm.Fatal
	}
}

// unanswered classes a request whose answer did not come, or not whole.
func (e *Endpoint) unanswered(ctx context.Context, err error, sent bool) *llm.Error {
	if stop := ctx.Err(); stop != nil {
		return interrupted(stop, sent)
	}
	message := "the model endpoint cannot be reached: "
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		message = fmt.Sprintf("the model endpoint did not answer within %s: ", e.config.timeout())
	case sent:
		message = "the connection to the model endpoint broke before the answer was complete: "
	}
	return &llm.Error{Class: llm.Retryable, Message: message + e.masked(fmt.Sprint(err)), Sent: sent, Cause: err}
}

func interrupted(stop error, sent bool) *llm.Error {
	return &llm.Error{Class: llm.Retryable, Message: "the model call was interrupted: " + stop.Error(), Sent: sent,
		Cause: stop}
}

// webPage is the mistake of a base URL without its /v1.
func webPage(answer *http.Response) *llm.Error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind != "text/html" {
		return nil
	}
	return &llm.Error{Class: llm.Fatal, Status: answer.StatusCode, Sent: true,
		Message: "the model endpoint answered with a web page; its base URL normally ends in /v1"}
}

func readEndpointError(contents []byte) endpointError {
	var answer struct {
		Error  json.RawMessage `json:"error"`
		Detail any             `json:"detail"` // FastAPI servers such as vLLM
	}
	var said endpointError
	if json.Unmarshal(contents, &answer) == nil {
		if json.Unmarshal(answer.Error, &said) != nil {
			_ = json.Unmarshal(answer.Error, &said.Message)
		}
		if said.Message == "" && answer.Detail != nil {
			said.Message = fmt.Sprint(answer.Detail)
		}
	}
	if said.Message == "" {
		said.Message = strings.TrimSpace(string(contents))
	}
	return said
}

// masked shortens text and takes our key out of it: some endpoints quote it.
func (e *Endpoint) masked(text string) string {
	if e.config.APIKey != "" {
		text = strings.ReplaceAll(text, e.config.APIKey, "***")
	}
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "") + "…"
	}
	return text
}

// retryAfter reads the endpoint's wish: retry-after-ms, or retry-after in
// seconds or as an HTTP date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if wish, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wish
	}
	text := header.Get("Retry-After")
	if wish, ok := number(text, time.Second); ok {
		return wish
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	count, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if (err != nil && !math.IsInf(count, 1)) || math.IsNaN(count) || count < 0 {
		return 0, false
	}
	if count >= float64(maxRetryAfter)/float64(unit) {
		return maxRetryAfter, true
	}
	return time.Duration(count * float64(unit)), true
}

func quote(text string) string { return strconv.Quote(text) }
