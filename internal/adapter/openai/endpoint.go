package openai

import (
	"cairn/internal/domain/llm"
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// idleConnections is how many connections to one endpoint stay open. The
// worker makes hundreds of calls at once; the standard library would keep two.
const idleConnections = 128

// Endpoint posts bytes to one route of an OpenAI-compatible endpoint, once a call,
// and classes what goes wrong.
type Endpoint struct {
	config Config
	post   func(context.Context, ...option.RequestOption) error
}

// ChatEndpoint posts to chat/completions. A bad c is reported by every Post.
func ChatEndpoint(c Config) *Endpoint {
	// The service alone: openai.NewClient would add OPENAI_ADMIN_KEY and other variables
	// of the environment to requests that may go to somebody else's endpoint, and a client
	// holds a service for every route of OpenAI's, a fifth of each of our programs.
	service := openai.NewChatCompletionService(c.options()...)
	return &Endpoint{config: c, post: func(ctx context.Context, options ...option.RequestOption) error {
		_, err := service.New(ctx, openai.ChatCompletionNewParams{}, options...)
		return err
	}}
}

// EmbeddingEndpoint posts to embeddings. A bad c is reported by every Post.
func EmbeddingEndpoint(c Config) *Endpoint {
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
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	return options
}

// Post sends exactly body and returns the body of a 2xx answer. Other outcomes are
// *Error.
func (e *Endpoint) Post(ctx context.Context, body []byte, headers map[string]string) ([]byte, error) {
	if err := e.config.Validate(); err != nil {
		return nil, &llm.Error{Class: llm.Fatal, Message: err.Error(), Cause: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(err, false)
	}
	var answer *http.Response
	var received []byte
	options := []option.RequestOption{
		option.WithRequestBody("application/json", body),
		option.WithResponseInto(&answer),
		option.WithResponseBodyInto(&received),
	}
	for name, value := range headers {
		options = append(options, option.WithHeader(name, value))
	}
	wire := &wire{}
	err := e.post(wire.watch(ctx), options...)
	if err == nil && answer.StatusCode < 300 {
		if failure := webPage(answer); failure != nil {
			return nil, failure
		}
		return received, nil
	}
	if answer != nil && answer.StatusCode >= 300 {
		return nil, e.rejected(answer, body)
	}
	return nil, e.unanswered(ctx, err, answer != nil || wire.sent())
}

// wire watches how far a request got.
type wire struct{ traced, wrote atomic.Bool }

func (w *wire) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { w.traced.Store(true) },
		WroteHeaders: func() { w.wrote.Store(true) },
	})
}

// sent is pessimistic about transports that do not report to a trace.
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
