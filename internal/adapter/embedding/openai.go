package embedding

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	chat "cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/txscope"
)

// batchSize is how many texts one request carries. Endpoints limit both the
// number and the tokens of a request; 128 chunks stay below both.
const batchSize = 128

// Config names an OpenAI-compatible embedding model.
type Config struct {
	BaseURL    string // with its /v1; empty means chat.OpenAIURL
	APIKey     string
	Model      string
	Dims       int           // of the model's vectors; vectors of another length are refused
	Timeout    time.Duration // of one request, 0 means chat.DefaultTimeout
	HTTPClient *http.Client  // nil means a pooled client
}

// endpoint is a Config at work.
type endpoint struct {
	config Config
	http   *chat.Endpoint
}

// OpenAI makes an embedder that asks an endpoint. A bad cfg is reported by Embed.
func OpenAI(cfg Config) Embedder {
	return &endpoint{config: cfg, http: chat.EmbeddingEndpoint(chat.Config{
		BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Timeout: cfg.Timeout, HTTPClient: cfg.HTTPClient,
	})}
}

// Model names the space as the endpoint names the model.
func (e *endpoint) Model() string { return e.config.Model }

// Dims is the length of the vectors.
func (e *endpoint) Dims() int { return e.config.Dims }

// Embed sends the texts in batches, one after the other, each batch once. What
// the endpoint does wrong is an *llm.Error; vectors that do not fit the
// configuration are fault.Misconfigured.
func (e *endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if e.config.Model == "" || e.config.Dims <= 0 {
		return nil, fault.New(fault.Misconfigured, "the embedding endpoint has no model or no dimension",
			"set CAIRN_EMBEDDING_MODEL and CAIRN_EMBEDDING_DIMENSIONS")
	}
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(batchSize, len(texts))
		batch, err := e.batch(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		vectors, texts = append(vectors, batch...), texts[n:]
	}
	return vectors, nil
}

func (e *endpoint) batch(ctx context.Context, texts []string) ([][]float32, error) {
	params := openai.EmbeddingNewParams{
		Model:          e.config.Model,
		Input:          openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: inputs(texts)},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}
	// Only these models shorten their vectors; others refuse the parameter.
	if strings.Contains(e.config.Model, "text-embedding-3") {
		params.Dimensions = param.NewOpt(int64(e.config.Dims))
	}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the embedding request cannot be rendered", "")
	}
	answer, err := e.http.Post(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	var response openai.CreateEmbeddingResponse
	if !json.Valid(answer) || json.Unmarshal(answer, &response) != nil {
		return nil, &llm.Error{Class: llm.Retryable, Status: http.StatusOK, Sent: true,
			Message: "the embedding endpoint's answer is broken: not a list of embeddings"}
	}
	return e.vectors(response.Data, len(texts))
}

// vectors checks what came and puts it in the order of the texts.
func (e *endpoint) vectors(data []openai.Embedding, want int) ([][]float32, error) {
	if len(data) != want {
		return nil, fault.Newf(fault.Misconfigured, "the embedding model %q gave %d vectors for %d texts",
			e.config.Model, len(data), want)
	}
	vectors := make([][]float32, want)
	for _, item := range data {
		if len(item.Embedding) != e.config.Dims {
			return nil, fault.New(fault.Misconfigured,
				fmt.Sprintf("the embedding model %q gives vectors of %d numbers, configured are %d", e.config.Model,
					len(item.Embedding), e.config.Dims),
				fmt.Sprintf("set CAIRN_EMBEDDING_DIMENSIONS to %d and run `cairn reembed`, or name another model",
					len(item.Embedding)))
		}
		if item.Index < 0 || item.Index >= int64(want) || vectors[item.Index] != nil {
			return nil, fault.Newf(fault.Misconfigured, "the embedding model %q numbers its vectors wrongly: %d of %d",
				e.config.Model, item.Index, want)
		}
		for _, number := range item.Embedding {
			if math.IsNaN(number) || math.IsInf(number, 0) {
				return nil, fault.Newf(fault.Misconfigured, "the embedding model %q gives numbers that are none",
					e.config.Model)
			}
		}
		vectors[item.Index] = lexical.Unit(item.Embedding)
	}
	return vectors, nil
}

// inputs replaces empty texts, which endpoints refuse, by a blank.
func inputs(texts []string) []string {
	filled := make([]string, len(texts))
	for i, text := range texts {
		filled[i] = text
		if text == "" {
			filled[i] = " "
		}
	}
	return filled
}
