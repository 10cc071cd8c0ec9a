package agentrun_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/ledger"
	"cairn/internal/testkit"
)

// with makes a message one with files. Its text ends with the marks of recordings.
func with(kind media.Kind, contents ...string) func(*conversation.Request) {
	return func(r *conversation.Request) {
		m := transcript.Message{Role: transcript.User, Content: r.Text}
		for i, content := range contents {
			mime := map[media.Kind]string{media.Voice: "audio/ogg", media.Image: "image/png"}[kind]
			m.Attachments = append(m.Attachments,
				transcript.Attachment{Kind: kind, Type: mime, Content: []byte(content)})
			mark := media.VoiceMark
			if kind == media.Image {
				mark = media.ImageMark(fmt.Sprintf("%d.png", i), "")
			}
			m.Content = strings.TrimSpace(m.Content + "\n\n" + mark)
		}
		r.Text, r.Inputs, r.Spec.Images = "", []transcript.Message{m}, true
	}
}

// transcribing gives the loop a model of transcription.
func (b *bundle) transcribing() *model {
	scribe := &model{}
	b.Transcriber = &agentrun.Transcriber{Model: "whisper",
		Ledger: &ledger.Ledger{Ports: ledger.Ports{Store: b.db.Store, Model: scribe, Lease: time.Minute}}}
	return scribe
}

func (b *bundle) userMessage() (content string) {
	b.t.Helper()
	return b.Text("select content from messages where role = 'user' order by seq desc limit 1")
}

func TestTranscribeWritesTheWordsIntoTheMessageOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scribe := b.transcribing()
	scribe.says("Where is the harbor?", "", "And the church?")
	turn := b.say("m1", "Listen", with(media.Voice, "one", "two", "three")).Run
	for range 2 {
		testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
	}
	want := "Listen\n\n[voice message] Where is the harbor?\n\n[voice message]\n\n[voice message] And the church?"
	if got := b.userMessage(); got != want {
		t.Errorf("the message is %q", got)
	}
	if n := len(scribe.requests()); n != 3 {
		t.Errorf("%d requests of transcription", n)
	}
	b.model.says("East.")
	b.drive(turn)
	if got := lasts(b.model.requests()[0]); !strings.HasSuffix(got, want) {
		t.Errorf("the model read %q", got)
	}
	if got := b.answer("m1").Reply; got != "East.\n\nI could not read the voice message: no speech was recognized." {
		t.Errorf("the reply is %q", got)
	}
	if n := b.Number("select count(*) from attachments where content = ''"); n != 3 {
		t.Errorf("%d recordings have no content any more", n)
	}
	if n := b.Number("select count(*) from turns where tainted"); n != 1 {
		t.Errorf("%d tainted turns", n)
	}
}

// An endpoint that is away is asked again. One that refuses a recording, or is not configured, is not.
func TestTranscribeDistinguishesFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scribe := b.transcribing()
	scribe.fails(llm.Retryable)
	scribe.says("Hello?")
	turn := b.say("m1", "", with(media.Voice, "one")).Run
	if err := b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)); err == nil {
		t.Error("a failure that passes is no error")
	}
	if got := b.userMessage(); got != media.VoiceMark {
		t.Errorf("the message is %q", got)
	}
	testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
	if got := b.userMessage(); got != "[voice message] Hello?" {
		t.Errorf("the message is %q", got)
	}
	for class, want := range map[llm.Class]string{llm.Fatal: "could not transcribe", llm.Auth: "at the moment"} {
		scribe.fails(class)
		id := "m-" + string(class)
		turn = b.say(id, "", with(media.Voice, "two")).Run
		testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
		b.drive(turn)
		if got := b.answer(id); !strings.Contains(got.Reply, want) || got.Reason != string(agent.Final) {
			t.Errorf("%s: %+v", class, got)
		}
	}
	b.Transcriber = nil
	turn = b.say("m9", "", with(media.Voice, "three")).Run
	testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
	b.drive(turn)
	if got := b.answer("m9").Reply; !strings.Contains(got, "no model for transcription") {
		t.Errorf("the reply is %q", got)
	}
	if n := len(b.model.requests()); n != 0 {
		t.Errorf("the model was asked %d times about recordings without words", n)
	}
}

// A turn whose recordings were not transcribed in time has a reply that states it.
func TestATurnWithoutItsWordsEndsWithAReply(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive(b.say("m1", "", with(media.Voice, "one")).Run)
	if got := b.answer("m1").Reply; !strings.Contains(got, "transcription is not available") {
		t.Errorf("the reply is %q", got)
	}
}

// Words that arrive after the end of the turn are not stored: its reply states that they are missing.
func TestTranscribeLeavesATurnThatHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := b.say("m1", "", with(media.Voice, "one")).Run
	b.transcribing().replies = []func() (llm.Reply, error){func() (llm.Reply, error) {
		_, err := b.Close(t.Context(), pgtest.CloseAgent(turn.Ref, agent.Interrupted))
		return reply("Too late"), err
	}}
	testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
	if got := b.userMessage(); got != media.VoiceMark {
		t.Errorf("the message is %q", got)
	}
	if got := b.answer("m1").Reply; !strings.Contains(got, "transcription is not available") {
		t.Errorf("the reply is %q", got)
	}
}

// A message that its user has deleted in the meantime stays deleted.
func TestTranscribeLeavesADeletedMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.transcribing().says("A secret")
	turn := b.say("m1", "", with(media.Voice, "one")).Run
	b.Exec("update messages set content = ''")
	testkit.Must(t, b.Transcribe(t.Context(), pgtest.RunRef(turn.Ref)))
	if got := b.userMessage(); got != "" {
		t.Errorf("the message is %q", got)
	}
}

// A request has the images of its turn and of the three turns before it. Later ones only name them.
func TestRequestsHaveTheImagesOfTheLastTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.last = func() (llm.Reply, error) { return reply("I see."), nil }
	b.drive(b.say("m1", "Look", with(media.Image, "one", "two")).Run)
	for i := range 4 {
		b.drive(b.say(fmt.Sprintf("m%d", i+2), "And now?", func(r *conversation.Request) { r.Spec.Images = true }).Run)
	}
	for i, r := range b.model.requests() {
		images := r.Messages[0].Images
		if want := map[bool]int{true: 2}[i <= 3]; len(images) != want {
			t.Errorf("request %d has %d images, want %d", i+1, len(images), want)
		}
		if !strings.Contains(r.Messages[0].Content, "[image 0.png]\n\n[image 1.png]") {
			t.Errorf("request %d reads %q", i+1, r.Messages[0].Content)
		}
		for _, image := range images {
			if mime, sha, ok := llm.ParseAttachmentURL(image.URL); !ok || mime != "image/png" || len(sha) != 64 {
				t.Errorf("an image is %q", image.URL)
			}
		}
	}
}

func TestRequestsHaveTheNewestImagesWithinTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.last = func() (llm.Reply, error) { return reply("I see."), nil }
	for i := range 3 {
		b.drive(b.say(fmt.Sprintf("m%d", i), "Look", with(media.Image, "1", "2", "3", "4", "5")).Run)
	}
	last := b.model.requests()[2].Messages
	if counts := []int{len(last[0].Images), len(last[2].Images), len(last[4].Images)}; counts[0] != 0 ||
		counts[1] != 5 || counts[2] != 5 {
		t.Errorf("the messages have %v images", counts)
	}
	b.Exec("update attachments set bytes = 20000000")
	b.drive(b.say("m8", "And now?", func(r *conversation.Request) { r.Spec.Images = true }).Run)
	last = b.model.requests()[3].Messages
	if len(last[2].Images) != 0 || len(last[4].Images) != 2 {
		t.Errorf("large images: %d and %d", len(last[2].Images), len(last[4].Images))
	}
	b.Exec("update attachments set expires_at = now() + interval '1 hour'")
	b.drive(b.say("m9", "And now?", func(r *conversation.Request) { r.Spec.Images = true }).Run)
	for _, m := range b.model.requests()[4].Messages {
		if len(m.Images) > 0 {
			t.Errorf("an image that expires soon is sent: %+v", m)
		}
	}
}

// A model that takes no images gets none.
func TestAModelWithoutImagesGetsTheirNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.says("I see.")
	b.drive(b.say("m1", "Look", with(media.Image, "one"), func(r *conversation.Request) { r.Spec.Images = false }).Run)
	if m := b.model.requests()[0].Messages[0]; len(m.Images) != 0 || !strings.Contains(m.Content, "[image 0.png]") {
		t.Errorf("the model got %+v", m)
	}
}
