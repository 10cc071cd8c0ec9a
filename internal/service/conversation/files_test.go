package conversation_test

import (
	"bytes"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// with makes a message one with files.
func with(r conversation.Request, text string, files ...transcript.Attachment) conversation.Request {
	r.Text, r.Inputs = "", []transcript.Message{{Role: transcript.User, Content: text, Attachments: files}}
	return r
}

func image(content string) transcript.Attachment {
	return transcript.Attachment{Kind: media.Image, Type: "image/png", Content: []byte(content)}
}

// Files are stored with their message once. They taint the turn, and its recordings are counted.
func TestAcceptStoresFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	voice := transcript.Attachment{Kind: media.Voice, Type: "audio/ogg", Content: []byte("OggS")}
	r := with(b.message("c", "m1", ""), "Look [image a.png]\n\n[voice message]", image("one"), voice)
	for range 2 {
		spec, err := agentrun.SpecOf(b.accept(r).Run)
		testkit.Must(t, err)
		if spec.Voice != 1 || !spec.Tainted {
			t.Errorf("pinned %+v", spec)
		}
	}
	if n := b.Number("select count(*) from attachments a join messages m using (workspace_id, conversation_id, seq, " +
		"turn) where a.position in (0, 1) and a.content in ('one', 'OggS') and bytes in (3, 4)"); n != 2 {
		t.Errorf("%d files of the message", n)
	}
	other := with(b.message("c", "m1", ""), "Look [image a.png]\n\n[voice message]", image("two"), voice)
	if _, err := b.Accept(t.Context(), other); fault.CodeOf(err) != fault.OpReused {
		t.Errorf("another file under the same ID: %v", err)
	}
}

func TestAcceptRefusesFilesOverTheLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	large := image("")
	large.Content = bytes.Repeat([]byte("x"), media.MaxImage+1)
	six := make([]transcript.Attachment, media.MaxImages+1)
	for i := range six {
		six[i] = image("x")
	}
	for name, r := range map[string]conversation.Request{
		"large": with(b.message("c", "m1", ""), "Look", large),
		"many":  with(b.message("c", "m1", ""), "Look", six...),
	} {
		if _, err := b.Accept(t.Context(), r); fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := b.Number("select count(*) from attachments"); n != 0 {
		t.Errorf("%d files are stored", n)
	}
}

// A recording of an exchange that is only observed is not transcribed.
func TestAcceptCountsNoRecordingsOfAnObservedExchange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.observed("c", "m1", transcript.Message{Role: transcript.User, Content: "[voice message]",
		Attachments: []transcript.Attachment{{Kind: media.Voice, Type: "audio/ogg", Content: []byte("OggS")}}})
	spec, err := agentrun.SpecOf(b.accept(r).Run)
	testkit.Must(t, err)
	if spec.Voice != 0 || spec.Mode != contract.Observe {
		t.Errorf("pinned %+v", spec)
	}
}
