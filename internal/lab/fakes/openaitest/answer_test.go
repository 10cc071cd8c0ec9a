package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestStreamedRepliesAddUp(t *testing.T) {
	t.Parallel()
	srv := New(t)
	text := strings.Repeat("退款 in steps, ", 20)
	srv.On(Rule{Reply: text})
	body := []byte(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user",` +
		`"content":[{"type":"text","text":"x"}]}]}`)
	_, answer := do(t.Context(), http.MethodPost, srv.URL+"/chat/completions", "", body)
	events := strings.Split(strings.TrimSpace(answer), "\n\n")
	if last := events[len(events)-1]; last != "data: [DONE]" {
		t.Fatalf("the stream ends with %q", last)
	}
	var got, finish strings.Builder
	usage := 0
	for _, event := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatal(err)
		}
		usage += chunk.Usage.Total
		for _, choice := range chunk.Choices {
			got.WriteString(choice.Delta.Content)
			finish.WriteString(choice.Finish)
		}
	}
	if got.String() != text || finish.String() != "stop" || usage == 0 {
		t.Errorf("got %q, finish %q, usage %d", got.String(), finish.String(), usage)
	}
}

func TestHundredsOfDelayedRepliesOverlap(t *testing.T) {
	t.Parallel()
	const requests, delay = 300, 100 * time.Millisecond
	srv := New(t)
	for i := range 50 { // rules must stay cheap
		srv.On(Rule{Stage: "extract", Task: fmt.Sprint("task-", i), Reply: "no"})
	}
	srv.On(Rule{Delay: delay, Reply: "ok"})
	start := time.Now()
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() { post(t.Context(), srv, "extract", fmt.Sprint(i)) })
	}
	group.Wait()
	// One after the other they would take 30 s.
	if took := time.Since(start); took > requests*delay/2 || len(srv.Paid()) != requests {
		t.Errorf("%d replies in %s", len(srv.Paid()), took)
	}
}

func TestEmbeddingsAreStableAndCanBeWrong(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Reply: "for chat only"})
	embed := func(body string) [][]float32 {
		t.Helper()
		status, answer := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "", []byte(body))
		var response struct {
			Data []struct{ Embedding []float32 }
		}
		if err := json.Unmarshal([]byte(answer), &response); status != 200 || err != nil {
			t.Fatalf("%d %s, %v", status, answer, err)
		}
		var vectors [][]float32
		for _, item := range response.Data {
			vectors = append(vectors, item.Embedding)
		}
		return vectors
	}
	vectors := embed(`{"model":"e","input":["Roll back, r41!","back ROLL r41","退款"]}`)
	if len(vectors) != 3 || len(vectors[0]) != DefaultDims || !slices.Equal(vectors[0], vectors[1]) ||
		slices.Equal(vectors[0], vectors[2]) {
		t.Errorf("got %v", vectors)
	}
	if vectors := embed(`{"model":"e","input":"one","dimensions":16}`); len(vectors) != 1 || len(vectors[0]) != 16 {
		t.Errorf("asked for 16 numbers: got %v", vectors)
	}
	srv.Dims(8)
	srv.WrongDimension(true)
	if vectors := embed(`{"model":"e","input":"one"}`); len(vectors[0]) != 9 {
		t.Errorf("wrong-dimension mode: got %d numbers, want 9", len(vectors[0]))
	}
	if status, _ := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "",
		[]byte(`{"input":[]}`)); status != http.StatusBadRequest {
		t.Errorf("no input: got %d", status)
	}
	srv.On(Rule{Stage: "embed", Status: 500})
	if status, _ := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "",
		[]byte(`{"input":"x"}`)); status != 500 {
		t.Errorf("scripted failure: got %d", status)
	}
	if len(srv.Paid()) != 0 {
		t.Error("embeddings are counted as paid chat calls")
	}
}
