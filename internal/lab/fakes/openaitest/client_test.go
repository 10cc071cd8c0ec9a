package openaitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// post requests a chat completion and returns the status and the body. Status 0 means that the
// response was incomplete.
func post(ctx context.Context, s *Server, stage, message string) (int, string) {
	body, _ := json.Marshal(map[string]any{"model": "m",
		"messages": []any{map[string]any{"role": "user", "content": message}}})
	return do(ctx, http.MethodPost, s.URL+"/chat/completions", stage, body)
}

func do(ctx context.Context, method, url, stage string, body []byte) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-Skill-Stage", stage)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

// content is the text of a chat completion.
func content(t *testing.T, answer string) string {
	t.Helper()
	var completion struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(answer), &completion); err != nil || len(completion.Choices) != 1 {
		t.Fatalf("not a completion: %s", answer)
	}
	return completion.Choices[0].Message.Content
}
