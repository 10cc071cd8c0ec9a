package openai_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

var (
	sha   = strings.Repeat("0a", 32)
	other = strings.Repeat("0b", 32)
	image = llm.Image{URL: llm.AttachmentURL("image/png", sha)}
)

// stored are the files of a workspace.
func stored(files map[string]string) llm.Files {
	return func(_ context.Context, sha256 string) ([]byte, error) {
		content, found := files[sha256]
		if !found {
			return nil, fault.New(fault.NotFound, "attachment not found", "")
		}
		return []byte(content), nil
	}
}

func TestARecordingIsSentWithItsName(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "transcribe", Run: "r-1", Match: `^voice\.ogg$`, Reply: " Hello there. "})
	model := openai.NewTranscriber(openai.Config{BaseURL: srv.URL, APIKey: "sk-test"})
	prepared := prepare(t, model, llm.Request{Model: "whisper-1", Audio: &llm.Audio{
		URL: llm.AttachmentURL("audio/ogg", sha), Bytes: 3}, Label: llm.Label{Stage: "transcribe", Run: "r-1"}})
	if len(prepared.Body) > 200 {
		t.Errorf("the stored request is %s", prepared.Body)
	}
	prepared.Files = stored(map[string]string{sha: "OggS speech"})
	reply, err := model.Send(t.Context(), prepared)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "Hello there." || reply.Model != "whisper-1" || reply.Usage != (llm.Usage{Input: 20}) {
		t.Errorf("the reply is %+v", reply)
	}
	if calls := srv.Requests(); len(calls) != 1 || string(calls[0].Body) != "OggS speech" {
		t.Errorf("sent %d recordings", len(calls))
	}
}

func TestFailuresOfATranscription(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "transcribe", Nth: 1, Status: 503})
	srv.On(openaitest.Rule{Stage: "transcribe", Nth: 2, Status: 400, Reply: "Invalid file format."})
	srv.On(openaitest.Rule{Stage: "transcribe", Nth: 3, Status: 401})
	srv.On(openaitest.Rule{Stage: "transcribe", Nth: 4, Drop: true})
	model := openai.NewTranscriber(openai.Config{BaseURL: srv.URL, APIKey: "sk-test"})
	prepared := prepare(t, model, llm.Request{Model: "whisper-1", Audio: &llm.Audio{
		URL: llm.AttachmentURL("audio/ogg", sha)}, Label: llm.Label{Stage: "transcribe"}})
	prepared.Files = stored(map[string]string{sha: "OggS speech"})
	for i, want := range []llm.Class{llm.Retryable, llm.Fatal, llm.Auth, llm.Retryable} {
		_, err := model.Send(t.Context(), prepared)
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Class != want || !failed.Sent {
			t.Errorf("%d: %v, want %s", i, err, want)
		}
	}
	prepared.Files = stored(nil)
	var failed *llm.Error
	_, err := model.Send(t.Context(), prepared)
	if !errors.As(err, &failed) || failed.Class != llm.Fatal || failed.Sent {
		t.Errorf("a recording that is erased: %v", err)
	}
	if _, err := model.Prepare(llm.Request{Model: "whisper-1"}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a request without a recording: %v", err)
	}
}

// A stored request names an image; the endpoint gets its content. A text that looks like a name stays.
func TestImagesAreSentAsDataURLs(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "turn", Reply: "A boat."})
	model := openai.New(openai.Config{BaseURL: srv.URL, APIKey: "sk-test"})
	decoy := `{"url":"` + image.URL + `"}`
	for _, streamed := range []bool{false, true} {
		r := llm.Request{Model: "scripted", Stream: streamed, Label: llm.Label{Stage: "turn"}, Messages: []llm.Message{
			{Role: llm.RoleUser, Content: decoy,
				Images: []llm.Image{image, {URL: llm.AttachmentURL("image/jpeg", other)}}},
			{Role: llm.RoleAssistant, Content: "What now?"}, {Role: llm.RoleUser, Images: []llm.Image{image}}}}
		prepared := prepare(t, model, r)
		large := strings.Repeat("x", 1<<20)
		prepared.Files = stored(map[string]string{sha: "\x89PNG", other: large})
		if len(prepared.Body) > 1000 {
			t.Errorf("the stored request has %d bytes", len(prepared.Body))
		}
		if _, err := model.Send(t.Context(), prepared); err != nil {
			t.Fatal(err)
		}
		calls := srv.Requests()
		got := calls[len(calls)-1].Messages
		png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
		if len(got) != 3 || got[0].Content != decoy || len(got[0].Images) != 2 || got[0].Images[0].URL != png ||
			len(got[0].Images[1].URL) < len(large) || got[2].Content != "" || got[2].Images[0].URL != png {
			t.Errorf("the endpoint got %.300v", got)
		}
	}
	prepared := prepare(t, model, llm.Request{Model: "scripted", Messages: []llm.Message{
		{Role: llm.RoleUser, Images: []llm.Image{image}}}})
	prepared.Files = stored(nil)
	var failed *llm.Error
	if _, err := model.Send(t.Context(), prepared); !errors.As(err, &failed) || failed.Class != llm.Fatal {
		t.Errorf("an image that is erased: %v", err)
	}
}
