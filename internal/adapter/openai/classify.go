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
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxRetryAfter bounds the delay that an endpoint can demand.
const maxRetryAfter = time.Minute

// messageLimit is the size in bytes up to which a message quotes an endpoint's text.
const messageLimit = 600

var (
	// Wording of OpenAI, Azure, vLLM, llama.cpp, Anthropic, Gemini and Groq.
	tooLong = regexp.MustCompile(`(?i)context.?length|context window|context size|maximum context|too many tokens|` +
		`prompt is too long|input is too long|input token count|reduce the length|request too large|上下文长度|输入过长`)
	outOfMoney = regexp.MustCompile(`(?i)insufficient_quota|billing_hard_limit|exceeded your current ` +
		`quota|insufficient (balance|credits?)|余额不足|欠费`)
	modelTalk = regexp.MustCompile(`(?i)model_not_found|\bmodel\b.{0,120}(?:not (?:found|exist|available|` +
		`supported)|does not exist|unknown|invalid)|(?:unknown|invalid|no such) model|模型不存在`)
	schemaTalk = regexp.MustCompile(`(?i)response_format|json_schema|json_object|structured output`)
)

// endpointError is the "error" object of a response. Its code is a string or a number, depending on
// the server.
type endpointError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"`
	Param   string `json:"param"`
}

// rejected classifies a response that is not 2xx. request is the body that was sent.
func (e *Endpoint) rejected(response *http.Response, request []byte) *llm.Error {
	contents, _ := io.ReadAll(response.Body)
	detail := readEndpointError(contents)
	failure := &llm.Error{
		Class:      classOf(response.StatusCode, detail, request),
		Status:     response.StatusCode,
		RetryAfter: retryAfter(response.Header, time.Now()),
		Sent:       true,
		Host:       e.host(),
		NoModel:    lacksModel(response.StatusCode, detail),
		Message: fmt.Sprintf("the model endpoint returned %d %s: %s", response.StatusCode,
			http.StatusText(response.StatusCode),
			e.masked(detail.Message)),
	}
	if place := response.Header.Get("Location"); place != "" && response.StatusCode < 400 {
		failure.Message += "redirected to " + place + ", which is not followed"
	}
	switch response.Header.Get("X-Should-Retry") {
	case "true":
		failure.Class = llm.Retryable
	case "false":
		if failure.Class == llm.Retryable {
			failure.Class = llm.Fatal
		}
	}
	return failure
}

// lacksModel reports whether the endpoint does not have the model of the request.
func lacksModel(status int, detail endpointError) bool {
	words := fmt.Sprint(detail.Message, " ", detail.Type, " ", detail.Code)
	return (status == http.StatusNotFound || status == http.StatusBadRequest) && modelTalk.MatchString(words)
}

// host returns the host of the endpoint, for messages.
func (e *Endpoint) host() string {
	base, err := url.Parse(e.config.base())
	if err != nil {
		return ""
	}
	return base.Host
}

// hasParameter reports whether a request sets a parameter. Inside a message the quotes would be escaped.
func hasParameter(request []byte, parameter string) bool {
	return bytes.Contains(request, []byte(`"`+parameter+`":`))
}

// options are the parameters that only some endpoints support, and the words of errors about them.
var options = map[string]string{"tool_choice": "tool choice", "temperature": "temperature",
	"reasoning_effort": "reasoning effort", "stream_options": "stream", "top_p": "top p", "seed": "seed",
	"frequency_penalty": "frequency penalty", "presence_penalty": "presence penalty",
	"parallel_tool_calls": "parallel tool calls", "prompt_cache_key": "prompt cache",
	"prompt_cache_breakpoint": "prompt cache", "cache_control": "cache control"}

// namesOption reports whether an error is about an option of the request.
func namesOption(words string, request []byte) bool {
	words = " " + strings.Map(func(r rune) rune { // "upstream" is not about streams
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return ' '
	}, words)
	for name, talk := range options {
		if hasParameter(request, name) && strings.Contains(words, " "+talk) {
			return true
		}
	}
	return false
}

// classOf returns the class of a response. A parameter can only be the cause if the request has it.
func classOf(status int, detail endpointError, request []byte) llm.Class {
	words := fmt.Sprint(detail.Message, " ", detail.Type, " ", detail.Code, " ", detail.Param)
	switch {
	case status == 401 || status == 402 || status == 403:
		return llm.Auth
	case status == 429 && outOfMoney.MatchString(words):
		return llm.Auth
	case status == 413, (status == 400 || status == 422) && tooLong.MatchString(words):
		return llm.ContextLength
	case (status == 400 || status == 422) && hasParameter(request, "response_format") && schemaTalk.MatchString(words):
		return llm.NoSchema
	case (status == 400 || status == 422) && namesOption(words, request):
		return llm.NoOption
	case status == 408 || status == 409 || status == 429:
		return llm.Retryable
	case status >= 500 && status != 501:
		return llm.Retryable
	default:
		return llm.Fatal
	}
}

// unanswered classifies a request whose response did not arrive, or not completely.
func (e *Endpoint) unanswered(ctx context.Context, err error, sent bool) *llm.Error {
	if stop := ctx.Err(); stop != nil {
		return interrupted(stop, sent)
	}
	if errors.Is(err, errReplyTooLarge) {
		return &llm.Error{Class: llm.Invalid, Status: http.StatusOK, Message: e.config.tooLarge(), Sent: true}
	}
	message := "cannot reach the model endpoint: "
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		message = fmt.Sprintf("the model endpoint did not respond within %s: ", e.config.timeout())
	case sent:
		message = "the connection to the model endpoint broke before the response was complete: "
	}
	return &llm.Error{Class: llm.Retryable, Message: message + e.masked(fmt.Sprint(err)), Sent: sent, Cause: err,
		Host: e.host()}
}

func interrupted(stop error, sent bool) *llm.Error {
	return &llm.Error{Class: llm.Retryable, Message: "the model call was interrupted: " + stop.Error(), Sent: sent,
		Cause: stop}
}

// webPage reports a web page as the response. The usual cause is a base URL without /v1.
func webPage(response *http.Response) *llm.Error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "text/html" {
		return nil
	}
	return &llm.Error{Class: llm.Fatal, Status: response.StatusCode, Sent: true,
		Message: "the model endpoint returned a web page; its base URL normally ends in /v1"}
}

func readEndpointError(contents []byte) endpointError {
	var response struct {
		Error  json.RawMessage `json:"error"`
		Detail any             `json:"detail"` // FastAPI servers such as vLLM
	}
	var detail endpointError
	if json.Unmarshal(contents, &response) == nil {
		if json.Unmarshal(response.Error, &detail) != nil {
			_ = json.Unmarshal(response.Error, &detail.Message)
		}
		if detail.Message == "" && response.Detail != nil {
			detail.Message = fmt.Sprint(response.Detail)
		}
	}
	if detail.Message == "" {
		detail.Message = strings.TrimSpace(string(contents))
	}
	return detail
}

// masked shortens text and removes the API key from it: some endpoints quote the key.
func (e *Endpoint) masked(text string) string {
	for _, key := range []string{e.config.APIKey, e.currentKey()} {
		if key != "" {
			text = strings.ReplaceAll(text, key, "***")
		}
	}
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "") + "…"
	}
	return text
}

// retryAfter returns the delay that the endpoint asks for: retry-after-ms, or retry-after in
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
