package openai

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"cairn/internal/domain/llm"
)

// idleConnections is the number of open connections that are kept to one endpoint. The worker makes
// hundreds of calls at once; the standard library would keep two.
const idleConnections = 128

// Endpoint posts bytes to one route of an OpenAI-compatible endpoint, once per call, and classifies
// failures.
type Endpoint struct {
	config Config
	post   func(context.Context, ...option.RequestOption) error
	key    atomic.Pointer[string] // read again after the endpoint rejected that of config; nil until then
}

// ChatEndpoint posts to chat/completions. Every Post reports an invalid c.
func ChatEndpoint(c Config) *Endpoint {
	// Only one service is used. openai.NewClient would add OPENAI_ADMIN_KEY and other variables of
	// the environment to requests that may go to an endpoint of another provider. It also links a
	// service for every route of OpenAI, which is a fifth of each program's size.
	service := openai.NewChatCompletionService(c.options()...)
	return &Endpoint{config: c, post: func(ctx context.Context, options ...option.RequestOption) error {
		_, err := service.New(ctx, openai.ChatCompletionNewParams{}, options...)
		return err
	}}
}

// EmbeddingEndpoint posts to embeddings. Every Post reports an invalid c.
func EmbeddingEndpoint(c Config) *Endpoint {
	c.MaxReply = max(c.MaxReply, embeddingBytes)
	service := openai.NewEmbeddingService(c.options()...)
	return &Endpoint{config: c, post: func(ctx context.Context, options ...option.RequestOption) error {
		_, err := service.New(ctx, openai.EmbeddingNewParams{}, options...)
		return err
	}}
}

func (c Config) options() []option.RequestOption {
	client := c.HTTPClient
	if client == nil {
		client = pooledClient()
	}
	options := []option.RequestOption{
		option.WithBaseURL(c.base()),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(c.timeout()),
		option.WithMiddleware(c.limitReply),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	return options
}

// Post sends exactly body and returns the body of a 2xx response. Other outcomes are *llm.Error. If the
// endpoint rejects the key and its file holds another one, Post sends the request once more with it: a
// request with a rejected key was not processed.
func (e *Endpoint) Post(ctx context.Context, body []byte, headers map[string]string) (received []byte, err error) {
	err = e.request(ctx, jsonPayload(body), headers, &received)
	return received, err
}

// payload is the body of a request.
type payload struct {
	kind string // MIME type
	body []byte
}

func jsonPayload(body []byte) payload { return payload{"application/json", body} }

// Open is Post for a response whose body the caller reads and closes.
func (e *Endpoint) Open(ctx context.Context, body []byte, headers map[string]string) (r *http.Response, err error) {
	err = e.request(ctx, jsonPayload(body), headers, &r)
	return r, err
}

// request stores the body of the response, or the response itself, in into.
func (e *Endpoint) request(ctx context.Context, p payload, headers map[string]string, into any) error {
	used := e.currentKey()
	err := e.send(ctx, p, headers, into)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Status == http.StatusUnauthorized && e.renewKey(used) {
		return e.send(ctx, p, headers, into)
	}
	return err
}

func (e *Endpoint) currentKey() string {
	if key := e.key.Load(); key != nil {
		return *key
	}
	return e.config.APIKey
}

// renewKey reads the key again and reports whether it differs from the one that was used.
func (e *Endpoint) renewKey(used string) bool {
	if e.config.RereadKey == nil {
		return false
	}
	key, err := e.config.RereadKey()
	if err != nil || key == used {
		return false
	}
	e.key.Store(&key)
	return true
}

func (e *Endpoint) send(ctx context.Context, p payload, headers map[string]string, into any) error {
	if err := e.config.Validate(); err != nil {
		return &llm.Error{Class: llm.Fatal, Message: err.Error(), Cause: err}
	}
	if err := ctx.Err(); err != nil {
		return interrupted(err, false)
	}
	var response *http.Response
	options := []option.RequestOption{
		option.WithRequestBody(p.kind, p.body),
		option.WithResponseInto(&response),
		option.WithResponseBodyInto(into),
	}
	for name, value := range headers {
		options = append(options, option.WithHeader(name, value))
	}
	if key := e.key.Load(); key != nil {
		options = append(options, option.WithAPIKey(*key))
	}
	wire := &wire{}
	err := e.post(wire.watch(ctx), options...)
	if err == nil && response.StatusCode < 300 {
		if failure := webPage(response); failure != nil {
			response.Body.Close() // of Open; otherwise it is closed
			return failure
		}
		return nil
	}
	if response != nil && response.StatusCode >= 300 {
		defer response.Body.Close()
		return e.rejected(response, p.body)
	}
	return e.unanswered(ctx, err, response != nil || wire.sent())
}

// wire records how much of a request was sent.
type wire struct{ traced, wrote atomic.Bool }

func (w *wire) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { w.traced.Store(true) },
		WroteHeaders: func() { w.wrote.Store(true) },
	})
}

// sent reports whether the request may have been sent. It is true for transports that do not
// support tracing.
func (w *wire) sent() bool { return w.wrote.Load() || !w.traced.Load() }

func pooledClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = idleConnections
	transport.MaxIdleConnsPerHost = idleConnections
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
