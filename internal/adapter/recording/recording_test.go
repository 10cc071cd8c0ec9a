package recording_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/adapter/recording"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

func request(text string) llm.Request {
	return llm.Request{Model: "m", System: "Answer.", Messages: llm.User(text), Label: llm.Label{Stage: "recite"},
		Schema: &llm.Schema{Name: "answer", JSON: []byte(`{"type": "object"}`)}}
}

func send(t *testing.T, m llm.Model, text string) (llm.Reply, error) {
	t.Helper()
	p, err := m.Prepare(request(text))
	testkit.Must(t, err)
	return m.Send(t.Context(), p)
}

// What was recorded is played back without a request, and a recording continues after a crash.
func TestARecordingIsPlayedBack(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Match: "sky", Reply: `{"answer": "blue"}`, Times: 1})
	srv.On(openaitest.Rule{Match: "sky", Reply: `{"answer": "grey"}`})
	srv.On(openaitest.Rule{Match: "grass", Reply: `{"answer": "green"}`})
	model := openai.New(openai.Config{BaseURL: srv.URL})
	path := filepath.Join(t.TempDir(), "replies.jsonl")
	first := recording.NewRecorder(path, model)
	for range 2 { // the second time from the file
		reply, err := send(t, first, "the sky")
		if err != nil || !strings.Contains(reply.Text, "blue") {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	testkit.Must(t, err)
	_, err = file.WriteString(`{"sha256": "half a li`) // a crash
	testkit.Must(t, errors.Join(err, file.Close()))
	second := recording.NewRecorder(path, model)
	_, err = send(t, second, "the grass")
	testkit.Must(t, err)
	if n := srv.Count(""); n != 2 {
		t.Errorf("%d requests were sent, want 2", n)
	}
	read, err := recording.Read(path)
	if err != nil || read.Len() != 2 || len(read.Models) != 1 || read.Models[0] != "m" {
		t.Errorf("%d replies of %v, %v", read.Len(), read.Models, err)
	}
	player := recording.NewPlayer(path, openai.New(openai.Config{BaseURL: "http://127.0.0.1:1/v1"}))
	for text, want := range map[string]string{"the sky": "blue", "the grass": "green"} {
		if reply, err := send(t, player, text); err != nil || !strings.Contains(reply.Text, want) ||
			reply.Usage.Input == 0 {
			t.Errorf("%s: %+v, %v", text, reply, err)
		}
	}
	var failed *llm.Error
	if _, err := send(t, player, "the sea"); !errors.As(err, &failed) || failed.Class != llm.NoSchema {
		t.Errorf("an unknown request with a schema: %v", err)
	}
	p, err := player.Prepare(llm.Request{Model: "m", Messages: llm.User("the sea")})
	testkit.Must(t, err)
	if _, err := player.Send(t.Context(), p); !errors.As(err, &failed) || failed.Class != llm.Fatal {
		t.Errorf("an unknown request: %v", err)
	}
}

// Equal requests at the same time are sent once.
func TestEqualRequestsAreSentOnce(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Reply: `{"answer": "one"}`, Barrier: "slow"})
	r := recording.NewRecorder(filepath.Join(t.TempDir(), "r"), openai.New(openai.Config{BaseURL: srv.URL}))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			p, err := r.Prepare(request("same"))
			if err == nil {
				_, err = r.Send(context.Background(), p)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	testkit.Must(t, srv.AwaitBarrier(t.Context(), "slow", 1))
	srv.Release("slow")
	all.Wait()
	if n := srv.Count(""); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{}\n", "hello\n", `{"format": "cairn-recording", "version": 2}` + "\n",
		`{"format": "cairn-recording", "version": 1}` + "\n" + `{"sha256": "abc"}` + "\n"} {
		path := filepath.Join(t.TempDir(), "r")
		testkit.Must(t, os.WriteFile(path, []byte(content), 0o600))
		if _, err := recording.Read(path); err == nil || !strings.Contains(err.Error(), "not a recording") {
			t.Errorf("%q: %v", content, err)
		}
	}
	player := recording.NewPlayer(filepath.Join(t.TempDir(), "absent"), openai.New(openai.Config{}))
	if _, err := send(t, player, "x"); err == nil {
		t.Error("a file that does not exist is played")
	}
}
