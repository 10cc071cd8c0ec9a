package httpapi_test

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/openaitest"
)

// A turn has images and recordings. What is not read is stated in the reply.
func TestATurnHasAttachments(t *testing.T) {
	t.Parallel()
	b := idle(t, func(o *config.Config) { o.ImageModels, o.TranscribeModel = "scripted", "whisper-1" })
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "transcribe", Nth: 1, Reply: "Who sails it?"})
	b.Model.On(openaitest.Rule{Stage: "transcribe", Reply: ""})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Ada does."})
	in := message("c", 1, "Look")
	in["attachments"] = []object{{"name": "boat.png", "data": []byte("\x89PNG\r\n\x1a\n a boat")},
		{"data": []byte("OggS one")}, {"data": []byte("OggS two")}}
	var out struct{ Reply string }
	b.post("/v1/turns", in).into(200, &out)
	if out.Reply != "Ada does.\n\nI could not read the voice message: no speech was recognized." {
		t.Errorf("the reply is %q", out.Reply)
	}
	all := b.Model.Requests()
	last := all[len(all)-1].Messages
	want := "Look\n\n[image boat.png]\n\n[voice message] Who sails it?\n\n[voice message]"
	if m := last[len(last)-1]; !strings.HasSuffix(m.Content, want) || len(m.Images) != 1 {
		t.Errorf("the model got %+v", m)
	}
	b.post("/v1/turns", in).into(200, &out) // the same message again
	other := message("c", 1, "Look")
	other["attachments"] = []object{{"name": "boat.png", "data": []byte("\x89PNG\r\n\x1a\n a cart")}}
	b.post("/v1/turns", other).refused(fault.OpReused)
	if n := b.Model.Count("transcribe"); n != 2 {
		t.Errorf("%d recordings were transcribed", n)
	}
}

func TestAttachmentsOfATurnThatAreRefused(t *testing.T) {
	t.Parallel()
	b := idle(t, func(o *config.Config) { o.ImageModels = "scripted" })
	for name, c := range map[string]struct {
		change object
		code   fault.Code
	}{
		"a text":     {object{"attachments": []object{{"data": []byte("hello")}}}, fault.InvalidArgument},
		"nothing":    {object{"attachments": []object{{"data": []byte{}}}}, fault.InvalidArgument},
		"not base64": {object{"attachments": []object{{"data": "%%%"}}}, fault.InvalidArgument},
		"observed": {object{"mode": "observe", "attachments": []object{{"data": []byte("OggS")}}},
			fault.InvalidArgument},
		"a large one": {object{"attachments": []object{{"data": large()}}}, fault.TooLarge},
	} {
		in := message("c", 1, "Look")
		maps.Copy(in, c.change)
		t.Log(name)
		b.post("/v1/turns", in).refused(c.code)
	}
	if n := b.stored("select count(*) from cairn.attachments"); n != 0 {
		t.Errorf("%d attachments are stored", n)
	}
}

// large is an image over the limit, in base64.
func large() string {
	return base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n" + strings.Repeat("x", 10<<20)))
}
