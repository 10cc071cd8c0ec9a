package channel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/media"
)

// shelf is a platform with files.
type shelf struct {
	Adapter
	files   map[string]string
	fetched []string
}

func (s *shelf) Fetch(_ context.Context, a channel.Attachment) (io.ReadCloser, error) {
	s.fetched = append(s.fetched, a.Ref)
	content, found := s.files[a.Ref]
	if !found {
		return nil, errors.New("gone")
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// reading returns a service whose models take all files, and a platform with files.
func reading() (*Service, *shelf) {
	s := &Service{Ports: Ports{Images: true, Voice: true, Log: slog.New(slog.DiscardHandler),
		FileText: func(_ context.Context, raw []byte) (string, error) {
			if strings.Contains(string(raw), "\x00") {
				return "", errors.New("not a text")
			}
			return string(raw), nil
		}}}
	return s, &shelf{files: map[string]string{"photo": "\x89PNG\r\n\x1a\n", "voice": "OggS", "notes": "Buy milk.",
		"empty": "", "program": "\x00\x01", "huge": strings.Repeat("x", media.MaxVoice+1),
		"long": strings.Repeat("y", maxFileRunes+100)}}
}

// read returns an event with its files, and the contents that were saved with it.
func (s *Service) read(t *testing.T, platform *shelf, e channel.Event) (channel.Event, [][]byte) {
	t.Helper()
	e.Attachments = slices.Clone(e.Attachments)
	contents := make([][]byte, len(e.Attachments))
	err := s.withFiles(t.Context(), Account{Adapter: platform}, &e, func() error {
		for i, f := range e.Attachments {
			if len(f.Content) > 0 {
				contents[i] = f.Content
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, contents
}

func TestFilesOfAMessageAreReadByTheirContent(t *testing.T) {
	t.Parallel()
	s, platform := reading()
	for ref, c := range map[string]struct {
		stated  channel.Attachment
		kind    media.Kind
		problem media.Problem
		text    string // in the message
	}{
		"photo":   {channel.Attachment{Type: "text/plain"}, media.Image, "", "[image 4c4b6a3b]"},
		"voice":   {channel.Attachment{Type: "audio/ogg"}, media.Voice, "", "[voice message]"},
		"notes":   {channel.Attachment{Type: "image/png", Name: "a\nb.png"}, "", "", "[file a b.png]\nBuy milk."},
		"empty":   {channel.Attachment{Type: "audio/ogg"}, media.Voice, media.Empty, "[voice message: not read]"},
		"program": {channel.Attachment{Name: "x.exe"}, "", media.Unknown, "[file x.exe: not read]"},
		"huge":    {channel.Attachment{}, "", media.TooLarge, "[file: not read]"},
		"gone":    {channel.Attachment{Type: "image/png"}, media.Image, media.Unavailable, "[image: not read]"},
	} {
		c.stated.Ref = ref
		e, contents := s.read(t, platform, channel.Event{Kind: channel.Message,
			Attachments: []channel.Attachment{c.stated}})
		f := e.Attachments[0]
		if f.Kind != c.kind || f.Problem != c.problem || (len(contents[0]) > 0) != f.Stored() || !f.Done {
			t.Errorf("%s: %q, %q, %d bytes", ref, f.Kind, f.Problem, len(contents[0]))
		}
		m := messageOf(channel.StoredEvent{Event: e, ID: 7}, false)
		if ref != "photo" && m.Content != c.text || !strings.HasPrefix(m.Content, c.text[:6]) ||
			(len(m.Attachments) == 1) != f.Stored() {
			t.Errorf("%s: the message is %q with %d files", ref, m.Content, len(m.Attachments))
		}
	}
}

// What is known before is not fetched: the number of files, their size, and that no model takes them.
func TestFilesAreNotFetchedInVain(t *testing.T) {
	t.Parallel()
	s, platform := reading()
	photo := channel.Attachment{Ref: "photo", Type: "image/png"}
	large := photo
	large.Size = media.MaxImage + 1
	all := []channel.Attachment{photo, photo, photo, photo, photo, photo}
	said := channel.Event{Kind: channel.Message, Attachments: all}
	e, _ := s.read(t, platform, said)
	if len(platform.fetched) != maxFiles || e.Attachments[maxFiles].Problem != media.TooMany {
		t.Errorf("%d of %d files are fetched", len(platform.fetched), len(all))
	}
	platform.fetched = nil
	s.Voice = false
	said.Attachments = []channel.Attachment{large, {Ref: "voice", Type: "audio/ogg"}}
	e, _ = s.read(t, platform, said)
	if len(platform.fetched) > 0 || e.Attachments[0].Problem != media.TooLarge ||
		e.Attachments[1].Problem != media.NoModel {
		t.Errorf("fetched %v: %+v", platform.fetched, e.Attachments)
	}
	said.Group, said.Attachments = true, []channel.Attachment{photo, {Ref: "photo"}, {Ref: "notes", Name: "n"}}
	e, _ = s.read(t, platform, said)
	if len(platform.fetched) != 2 || e.Attachments[0].Problem != media.Unasked ||
		e.Attachments[1].Problem != media.Unasked || e.Text != "[file n]\nBuy milk." {
		t.Errorf("of a message to others, fetched %v: %+v", platform.fetched, e)
	}
	if files, rest := unread([]channel.StoredEvent{{Event: e}}); media.Notice("en", files) != "" || !rest {
		t.Errorf("the user is told %+v", files)
	}
}

func TestTheTextOfFilesIsLimited(t *testing.T) {
	t.Parallel()
	s, platform := reading()
	e, _ := s.read(t, platform, channel.Event{Kind: channel.Message, Text: "Read",
		Attachments: []channel.Attachment{{Ref: "long"}, {Ref: "long"}}})
	if n := strings.Count(e.Text, "y"); n > maxFileRunes || !strings.HasPrefix(e.Text, "Read\n\n[file ]") {
		t.Errorf("%d characters of the files are in the message: %.40q", n, e.Text)
	}
	platform.files["long"] = strings.Repeat("y", maxFileRunes)
	e, _ = s.read(t, platform, channel.Event{Kind: channel.Message,
		Attachments: []channel.Attachment{{Ref: "long"}, {Ref: "long"}}})
	if n := strings.Count(e.Text, "y"); n != maxFileRunes || e.Attachments[1].Problem != media.TooLarge {
		t.Errorf("%d characters of the files are in the message, the second file is %q", n, e.Attachments[1].Problem)
	}
}
