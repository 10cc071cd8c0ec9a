package app

import (
	"cmp"
	"context"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/app/config"
	"cairn/internal/domain/index"
	"cairn/internal/service/search"
	"cairn/internal/service/vectorspace"
)

// Weights of the vector ranking in rank fusion, relative to the ranking by words. Hashed vectors
// contain the same words again, so they get a low weight; vectors of a model contain the meaning.
const (
	hashingShare  = 0.1
	semanticShare = 0.8
)

func vectorShare(e embedding.Embedder) float64 {
	if e.Model() == embedding.HashingModel {
		return hashingShare
	}
	return semanticShare
}

// pointerFresh is how long a process uses the space of a workspace that it has read.
const pointerFresh = time.Second

// buildSpaces opens the embedding spaces of the configured models.
func (h *App) buildSpaces(ctx context.Context) (err error) {
	h.Embedder = embedder(h.Config)
	h.embedderState = &embedderState{embedder: h.Embedder, log: h.Log}
	if h.Space, err = h.Store.Space(ctx, h.Embedder.Model(), h.Embedder.Dims()); err != nil {
		return err
	}
	if h.Embedder.Model() == embedding.HashingModel {
		h.Store.EmbedTurns(h.Space, embedding.HashingVectors(h.Embedder.Dims()))
	} else {
		h.Store.EmbedTurns(h.Space, nil)
	}
	h.Spaces = vectorspace.NewRegistry(vectorspace.RegistryPorts{Pointers: h.Store, Fresh: pointerFresh,
		Configured: index.Space{ID: h.Space, Model: h.Embedder.Model(), Dims: h.Embedder.Dims()},
		Serve:      serve(h.Embedder, previousEmbedder(h.Config)), Log: h.Log})
	return nil
}

// serve returns the function that finds the embedder of a space. Hashing needs no configuration.
func serve(configured ...embedding.Embedder) func(index.Space) (search.Space, bool) {
	return func(s index.Space) (search.Space, bool) {
		for _, e := range append(configured, embedding.Hashing(s.Dims)) {
			if e != nil && e.Model() == s.Model && e.Dims() == s.Dims {
				return search.Space{ID: s.ID, Embedder: e, VectorShare: vectorShare(e)}, true
			}
		}
		return search.Space{}, false
	}
}

// embedder returns the embedder of the configured model.
func embedder(c config.Config) embedding.Embedder {
	if c.EmbeddingModel == "" {
		return embedding.Hashing(c.EmbeddingDimensions)
	}
	return embedding.New(embedding.Config{BaseURL: cmp.Or(c.EmbeddingBaseURL, c.BaseURL),
		APIKey: cmp.Or(c.EmbeddingAPIKey, c.APIKey), Model: c.EmbeddingModel, Dims: c.EmbeddingDimensions,
		Timeout: c.Timeout, RereadKey: c.Reread("CAIRN_EMBEDDING_API_KEY", "OPENAI_API_KEY")})
}

// previousEmbedder returns the embedder of the previous model, nil if none is configured.
func previousEmbedder(c config.Config) embedding.Embedder {
	if c.EmbeddingPreviousModel == "" {
		return nil
	}
	return embedding.New(embedding.Config{
		BaseURL: cmp.Or(c.EmbeddingPreviousBaseURL, c.EmbeddingBaseURL, c.BaseURL),
		APIKey:  cmp.Or(c.EmbeddingPreviousAPIKey, c.EmbeddingAPIKey, c.APIKey), Model: c.EmbeddingPreviousModel,
		Dims: c.EmbeddingPreviousDimensions, Timeout: c.Timeout,
		RereadKey: c.Reread("CAIRN_EMBEDDING_PREVIOUS_API_KEY", "CAIRN_EMBEDDING_API_KEY", "OPENAI_API_KEY")})
}

// reembedStarter returns the driver, nil without Temporal.
func (h *App) reembedStarter() vectorspace.Starter {
	if h.Temporal == nil {
		return nil
	}
	return h.Driver
}
