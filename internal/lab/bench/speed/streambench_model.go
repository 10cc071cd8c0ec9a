package speed

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"cairn/internal/domain/llm"
)

// streamModel is an endpoint that streams the time.
type streamModel struct {
	*httptest.Server
	parts int
	pace  time.Duration

	mu    sync.Mutex
	waits []time.Duration // from a request to its first part
}

func newModel(parts int, pace time.Duration) *streamModel {
	m := &streamModel{parts: parts, pace: pace}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.chat)
	m.Server = httptest.NewServer(mux)
	return m
}

// chat streams parts of the form " 1700000000000000000": nanoseconds of Unix time.
func (m *streamModel) chat(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if asked, err := llm.ReadAsked(body); err != nil || !asked.Stream { // a review
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":`+
			`{"role":"assistant","content":"Nothing to save."},"finish_reason":"stop"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for i := range m.parts {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(m.pace):
		}
		if i == 0 {
			m.mu.Lock()
			m.waits = append(m.waits, time.Since(began))
			m.mu.Unlock()
		}
		fmt.Fprintf(
			w,
			`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,`+
				`"delta":{"content":" %d"},"finish_reason":null}]}`+"\n\n",
			time.Now().UnixNano(),
		)
		if control.Flush() != nil {
			return
		}
	}
	fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,`+
		`"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}
