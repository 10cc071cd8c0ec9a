package openai_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
	"cairn/internal/testkit"
)

// An endpoint changes its key while a process runs. The file of the key follows.
func TestAKeyIsChangedWithoutARestart(t *testing.T) {
	t.Parallel()
	var valid atomic.Value
	var requests atomic.Int32
	valid.Store("first")
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); key != valid.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"invalid key ` + key + `"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":` +
			`{"role":"assistant","content":"yes"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	}))
	defer endpoint.Close()
	file := filepath.Join(t.TempDir(), "key")
	put := func(key string) { testkit.Must(t, os.WriteFile(file, []byte(key), 0o600)) }
	put("first")
	model := openai.New(openai.Config{BaseURL: endpoint.URL, APIKey: "first", RereadKey: func() (string, error) {
		raw, err := os.ReadFile(file)
		return string(raw), err
	}})
	send := func() (sent int32, failed *llm.Error) {
		t.Helper()
		before := requests.Load()
		_, err := model.Send(t.Context(), prepare(t, model, request))
		errors.As(err, &failed)
		return requests.Load() - before, failed
	}
	if n, failed := send(); n != 1 || failed != nil {
		t.Fatalf("%d requests, %v", n, failed)
	}
	valid.Store("second")
	if n, failed := send(); n != 1 || failed == nil || failed.Status != http.StatusUnauthorized {
		t.Errorf("before the file is changed: %d requests, %v", n, failed)
	}
	put("second")
	for i, want := range []int32{2, 1, 1} { // the new key is kept
		if n, failed := send(); n != want || failed != nil {
			t.Errorf("call %d after the change: %d requests, %v", i, n, failed)
		}
	}
	put("wrong")
	valid.Store("third")
	n, failed := send()
	if n != 2 || failed == nil || strings.Contains(failed.Message, "wrong") ||
		strings.Contains(failed.Message, "second") {
		t.Errorf("with a wrong key in the file: %d requests, %v", n, failed)
	}
	testkit.Must(t, os.Remove(file))
	if n, failed := send(); n != 1 || failed == nil {
		t.Errorf("without the file: %d requests, %v", n, failed)
	}
	put("third")
	if n, failed := send(); n != 2 || failed != nil {
		t.Errorf("%d requests, %v", n, failed)
	}
}
