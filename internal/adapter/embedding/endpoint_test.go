package embedding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

func endpointEmbedAll(t *testing.T, embedder *embedding.Endpoint, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := embedder.Embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors for %d texts: %v", len(vectors), len(texts), err)
	}
	return vectors
}

func TestTheEndpointEmbedsInBatchesInOrder(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	embedder := embedding.New(embedding.Config{BaseURL: srv.URL, Model: "e", Dims: openaitest.DefaultDims})
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = fmt.Sprint("text number", i)
	}
	texts[200] = "" // endpoints reject empty texts
	vectors := endpointEmbedAll(t, embedder, texts...)
	for i, text := range texts {
		if want := openaitest.Embedding(text, openaitest.DefaultDims); text != "" && !slices.Equal(vectors[i], want) {
			t.Fatalf("vector %d is not that of %q", i, text)
		}
	}
	var sizes []int
	for _, call := range srv.Requests() {
		var body struct {
			Input      []string `json:"input"`
			Dimensions int      `json:"dimensions"`
		}
		if err := json.Unmarshal(call.Body, &body); err != nil || body.Dimensions != 0 ||
			slices.Contains(body.Input, "") {
			t.Fatalf("sent %s, %v", call.Body, err)
		}
		sizes = append(sizes, len(body.Input))
	}
	if !slices.Equal(sizes, []int{128, 128, 44}) {
		t.Errorf("batches of %v", sizes)
	}
	if vectors := endpointEmbedAll(t, embedder); len(vectors) != 0 || srv.Count("") != 3 {
		t.Error("no texts made a request")
	}
}

func TestTheEndpointAsksForDimensionsWhereTheModelCanShorten(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	embedder := embedding.New(embedding.Config{BaseURL: srv.URL, Model: "text-embedding-3-small", Dims: 32})
	if vector := endpointEmbedAll(t, embedder, "x")[0]; len(vector) != 32 || embedder.Dims() != 32 ||
		embedder.Model() != "text-embedding-3-small" {
		t.Errorf("got %d numbers", len(vector))
	}
}

func TestTheEndpointRefusesVectorsThatDoNotFit(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.WrongDimension(true)
	_, err := embedding.New(embedding.Config{BaseURL: srv.URL, Model: "e", Dims: openaitest.DefaultDims}).
		Embed(t.Context(), []string{"x"})
	if found := fault.From(err); found.Code != fault.Misconfigured ||
		!strings.Contains(found.Hint, "CAIRN_EMBEDDING_DIMENSIONS to 65") {
		t.Errorf("wrong dimension: got %v", err)
	}
	for name, answer := range map[string]string{
		"too few":        `{"data":[{"index":0,"embedding":[1,0]}]}`,
		"numbered twice": `{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`,
		"out of range":   `{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`,
	} {
		_, err := embedding.New(answering(t, answer)).Embed(t.Context(), []string{"a", "b"})
		if fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, config := range []embedding.Config{{Dims: 3}, {Model: "e"}} {
		if _, err := embedding.New(config).
			Embed(t.Context(), []string{"x"}); fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%+v: got %v", config, err)
		}
	}
}

func TestTheEndpointPutsVectorsInOrderAtUnitLength(t *testing.T) {
	t.Parallel()
	config := answering(t, `{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}`)
	vectors := endpointEmbedAll(t, embedding.New(config), "a", "b")
	if !slices.Equal(vectors[0], []float32{0.6, 0.8}) || !slices.Equal(vectors[1], []float32{0, 1}) {
		t.Errorf("got %v", vectors)
	}
}

func TestTheEndpointFailuresAreClassed(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "embed", Nth: 1, Status: 429, RetryAfter: "1"})
	srv.On(openaitest.Rule{Stage: "embed", Nth: 2, Status: 401})
	srv.On(openaitest.Rule{Stage: "embed", Nth: 3, DropAfter: true})
	srv.On(openaitest.Rule{Stage: "embed", Nth: 4, Malformed: true})
	embedder := embedding.New(embedding.Config{BaseURL: srv.URL, Model: "e", Dims: openaitest.DefaultDims})
	for i, want := range []llm.Class{llm.Retryable, llm.Auth, llm.Retryable, llm.Retryable} {
		_, err := embedder.Embed(t.Context(), []string{"x"})
		var failure *llm.Error
		if !errors.As(err, &failure) || failure.Class != want || srv.Count("embed") != i+1 {
			t.Errorf("call %d: got %v after %d requests, want %s after one more", i, err, srv.Count("embed"), want)
		}
	}
}

// answering returns the configuration of a model of two dimensions that always sends the same
// reply.
func answering(t *testing.T, answer string) embedding.Config {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(srv.Close)
	return embedding.Config{BaseURL: srv.URL, Model: "e", Dims: 2}
}
