package offlinemodel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
)

// ModelName is the model name in replies.
const ModelName = llm.OfflineModel

const maxRequest = 32 << 20 // bytes of a request body

// Handler serves POST /v1/chat/completions and GET /v1/models. It ignores request headers.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		model := map[string]any{"id": ModelName, "object": "model", "created": 0, "owned_by": "cairn"}
		send(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "the offline model does not serve "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// New returns the offline rules as a model, each request bounded by timeout. It prepares the same
// bytes that an endpoint would receive.
func New(timeout time.Duration) llm.Model {
	return openai.New(openai.Config{BaseURL: url, HTTPClient: Client(), Offline: true, Timeout: timeout})
}

// url is never resolved: Client handles requests in this process.
const url = "http://offline.invalid/v1"

// Client calls Handler in this process.
func Client() *http.Client { return openai.InProcess(Handler()) }

func complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "read the request: "+err.Error())
		return
	}
	req, err := read(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	message, finish := reply(req)
	input, output := llm.EstimateTokens(string(body)), llm.EstimateTokens(string(encode(message)))
	send(w, http.StatusOK, map[string]any{
		"id": identify("chatcmpl-", body), "object": "chat.completion", "created": 0, "model": ModelName,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage": map[string]any{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
			"estimated": true},
	})
}

// identify returns an ID that is the same for the same content.
func identify(prefix string, content []byte) string {
	sum := sha256.Sum256(content)
	return prefix + hex.EncodeToString(sum[:12])
}

func refuse(w http.ResponseWriter, status int, message string) {
	send(w, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error",
		"code": nil, "param": nil}})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // errors mean that the caller has disconnected
}

func encode(value any) []byte {
	data, _ := json.Marshal(value) // a reply holds only plain values, which always marshal
	return data
}
