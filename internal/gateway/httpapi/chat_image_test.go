package httpapi_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// picture returns the data URL of an image.
func picture(content string) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+content))
}

// showing is a user message with a text and images.
func showing(text string, urls ...string) object {
	parts := []object{{"type": "text", "text": text}}
	for _, url := range urls {
		parts = append(parts, object{"type": "image_url", "image_url": object{"url": url, "detail": "auto"}})
	}
	return object{"role": "user", "content": parts}
}

func withImages(o *config.Config) { o.ImageModels, o.APIModels = "scripted", "blind" }

// images returns those of the latest request to the model.
func (b *bundle) images() (out []string) {
	all := b.Model.Requests()
	for _, m := range all[len(all)-1].Messages {
		for _, image := range m.Images {
			out = append(out, image.URL)
		}
	}
	return out
}

// stored counts rows.
func (b *bundle) stored(query string) (n int) {
	b.T.Helper()
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), query).Scan(&n))
	return n
}

// A client sends the images of earlier messages again. They identify the conversation, and are stored once.
func TestAChatHasImages(t *testing.T) {
	t.Parallel()
	b := idle(t, withImages)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "A boat."})
	first := showing("What is this?", picture("boat"))
	_, conversation := b.chat(chatting(first))
	if got := b.images(); len(got) != 1 || got[0] != picture("boat") {
		t.Errorf("the model got %.300v", got)
	}
	history := []object{first, said("assistant", "A boat."), showing("And these?", picture("ship"), picture("raft"))}
	if _, same := b.chat(chatting(history...)); same != conversation {
		t.Errorf("the conversation %q is continued in %q", conversation, same)
	}
	if got := b.images(); len(got) != 3 || got[2] != picture("raft") {
		t.Errorf("the model got %.300v", got)
	}
	other := []object{showing("What is this?", picture("cart")), history[1], history[2]}
	if _, branch := b.chat(chatting(other...)); branch == conversation {
		t.Error("another image continues the conversation")
	}
	if got := b.images(); len(got) != 3 || got[0] != picture("cart") {
		t.Errorf("the model got %.300v of an imported conversation", got)
	}
	for query, want := range map[string]int{
		"select count(*) from cairn.attachments":                                       6,
		"select count(*) from cairn.llm_calls where " + requestOf + " like '%base64%'": 0,
		"select count(*) from cairn.turns where run_id is not null and tainted":        3,
	} {
		if got := b.stored(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

func TestAResponseHasImages(t *testing.T) {
	t.Parallel()
	b := idle(t, withImages)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "A boat."})
	b.do(request{method: http.MethodPost, path: "/v1/responses", body: object{"model": "cairn", "input": []object{
		{"role": "user", "content": []object{{"type": "input_text", "text": "What is this?"},
			{"type": "input_image", "image_url": picture("boat")}}}}}}).into(http.StatusOK, &object{})
	if got := b.images(); len(got) != 1 || got[0] != picture("boat") {
		t.Errorf("the model got %.300v", got)
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := idle(t, withImages)
	six := make([]string, 6)
	for i := range six {
		six[i] = picture(strings.Repeat("x", i))
	}
	for name, c := range map[string]struct {
		body asking
		want string // in the message
	}{
		"a URL":      {chatting(showing("Look", "https://example.org/boat.png")), "data URL"},
		"a text":     {chatting(showing("Look", "data:image/png;base64,"+"aGVsbG8=")), "not an image"},
		"not base64": {chatting(showing("Look", "data:image/png;base64,%%%")), "not base64"},
		"no data":    {chatting(showing("Look", "data:image/png")), "data URL"},
		"too large":  {chatting(showing("Look", picture(strings.Repeat("x", 10<<20)))), "the limit is 10485760"},
		"too many":   {chatting(showing("Look", six...)), "the limit is 5"},
		"blind model": {chatting(showing("Look", picture("boat"))).with("model", "cairn/blind"),
			"does not take images"},
		"of the assistant": {chatting(said("user", "Hi"), object{"role": "assistant",
			"content": showing("", picture("boat"))["content"]}, said("user", "Hi")), "not supported"},
		"sound": {chatting(object{"role": "user", "content": []object{{"type": "input_audio"}}}),
			"send text or images"},
	} {
		var out chatBody
		res := b.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: c.body})
		if res.status != http.StatusBadRequest && res.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d", name, res.status)
		}
		res.into(res.status, &out)
		if out.Error == nil || !strings.Contains(out.Error.Message, c.want) {
			t.Errorf("%s: %.300s", name, res.body)
		}
	}
	if n := b.stored("select count(*) from cairn.attachments"); n != 0 {
		t.Errorf("%d images are stored", n)
	}
}

// A title of a chat is made from its texts.
func TestATaskHasNoImages(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Reply: "Boats"})
	b.chat(chatting(showing("Name this chat", picture("boat"))).with("model", "cairn-task"))
	all := b.Model.Requests()
	last := all[len(all)-1].Messages
	if m := last[len(last)-1]; len(m.Images) != 0 || !strings.Contains(m.Content, "[image ") || m.Role != llm.RoleUser {
		t.Errorf("the model got %+v", m)
	}
}
