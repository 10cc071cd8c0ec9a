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

// batchSize is the number of texts per request. Endpoints limit both the number and the tokens of a
// request; 128 chunks stay below both limits.
const batchSize = 128

// Config names an OpenAI-compatible embedding model.
type Config struct {
	BaseURL    string // including /v1; empty means chat.OpenAIURL
	APIKey     string
	Model      string
	Dims       int                    // of the model's vectors; vectors of another length are rejected
	Timeout    time.Duration          // of one request; 0 means chat.DefaultTimeout
	HTTPClient *http.Client           // nil means a pooled client
	RereadKey  func() (string, error) // reads APIKey again after status 401; nil if it is not in a file
}

// Endpoint requests vectors from an OpenAI-compatible endpoint.
//
//	embedder := embedding.New(embedding.Config{BaseURL: url, Model: "embeddinggemma", Dims: 768})
//	vectors, err := embedder.Embed(ctx, []string{"Roll back to r41"})
type Endpoint struct {
	config Config
	http   *chat.Endpoint
}

// New returns an embedder. Embed reports an invalid cfg.
func New(cfg Config) *Endpoint {
	return &Endpoint{config: cfg, http: chat.EmbeddingEndpoint(chat.Config{
		BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Timeout: cfg.Timeout, HTTPClient: cfg.HTTPClient,
		RereadKey: cfg.RereadKey,
	})}
}

// Model returns the endpoint's name of the model.
func (e *Endpoint) Model() string { return e.config.Model }

// Dims returns the length of the vectors.
func (e *Endpoint) Dims() int { return e.config.Dims }

// Embed sends the texts in batches, one after the other, each batch once. Failures of the endpoint
// are *llm.Error. Vectors that do not match the configuration are fault.Misconfigured.
func (e *Endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
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

func (e *Endpoint) batch(ctx context.Context, texts []string) ([][]float32, error) {
	params := openai.EmbeddingNewParams{
		Model:          e.config.Model,
		Input:          openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: inputs(texts)},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}
	// Only these models can shorten their vectors; others reject the parameter.
	if strings.Contains(e.config.Model, "text-embedding-3") {
		params.Dimensions = param.NewOpt(int64(e.config.Dims))
	}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "render the embedding request", "")
	}
	answer, err := e.http.Post(ctx, body, nil)
	if err != nil {
		return nil, err
	}
	var response openai.CreateEmbeddingResponse
	if !json.Valid(answer) || json.Unmarshal(answer, &response) != nil {
		return nil, &llm.Error{Class: llm.Retryable, Status: http.StatusOK, Sent: true,
			Message: "invalid reply of the embedding endpoint: not a list of embeddings"}
	}
	return e.vectors(response.Data, len(texts))
}

// vectors checks the received vectors and sorts them in the order of the texts.
func (e *Endpoint) vectors(data []openai.Embedding, want int) ([][]float32, error) {
	if len(data) != want {
		return nil, fault.Newf(fault.Misconfigured, "the embedding model %q returned %d vectors for %d texts",
			e.config.Model, len(data), want)
	}
	vectors := make([][]float32, want)
	for _, item := range data {
		if len(item.Embedding) != e.config.Dims {
			return nil, fault.New(fault.Misconfigured,
				fmt.Sprintf("the embedding model %q returns vectors of %d numbers, but %d are configured",
					e.config.Model, len(item.Embedding), e.config.Dims),
				fmt.Sprintf("set CAIRN_EMBEDDING_DIMENSIONS to %[1]d (`export CAIRN_EMBEDDING_DIMENSIONS=%[1]d`) "+
					"and restart Cairn, or set CAIRN_EMBEDDING_MODEL to another model", len(item.Embedding)))
		}
		if item.Index < 0 || item.Index >= int64(want) || vectors[item.Index] != nil {
			return nil, fault.Newf(fault.Misconfigured,
				"the embedding model %q returned an invalid vector index: %d of %d",
				e.config.Model, item.Index, want)
		}
		for _, number := range item.Embedding {
			if math.IsNaN(number) || math.IsInf(number, 0) {
				return nil, fault.Newf(fault.Misconfigured,
					"the embedding model %q returned NaN or an infinite number",
					e.config.Model)
			}
		}
		vectors[item.Index] = lexical.Unit(item.Embedding)
	}
	return vectors, nil
}

// inputs replaces empty texts, which endpoints reject, by a blank.
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
