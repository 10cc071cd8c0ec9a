package channel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
)

// Limits of the files of a message.
const (
	mostFiles     = media.MostImages
	mostFileRunes = 20_000 // of the text of all files
	fileTime      = 30 * time.Second
)

// withFiles returns an event whose text also has that of its files, and whose images and recordings have their content.
// The platform is not asked again for a file that cannot be read, because that would stop the events after it.
func (s *Service) withFiles(ctx context.Context, a Account, e channel.Event) channel.Event {
	if len(e.Attachments) == 0 || e.Kind != channel.Message {
		return e
	}
	asked := !e.Group || e.Mentioned || a.Profile.Unasked
	left, parts := mostFileRunes, []string{e.Text}
	e.Attachments = slices.Clone(e.Attachments)
	for i := range e.Attachments {
		f := &e.Attachments[i]
		f.Name = strings.Join(strings.Fields(f.Name), " ")
		f.Kind = media.Stated(f.Type)
		if f.Problem = s.unwanted(*f, i, asked); f.Problem != "" {
			continue
		}
		text, err := s.readFile(ctx, a, f, asked)
		if err != nil {
			s.Log.Info("file not read", "account", a.Name, "error", err)
		}
		if text != "" && left <= 0 { // Clip would not limit it
			f.Problem, text = media.TooLarge, ""
		}
		if text == "" {
			continue
		}
		text = transcript.Clip(text, left)
		left -= utf8.RuneCountInString(text)
		parts = append(parts, fmt.Sprintf("[file %s]\n%s", f.Name, text))
	}
	e.Text = strings.TrimSpace(strings.Join(parts, "\n\n"))
	return e
}

// unwanted returns why a file is not fetched, by what the sender states about it.
func (s *Service) unwanted(f channel.Attachment, position int, asked bool) media.Problem {
	switch {
	case position >= mostFiles:
		return media.TooMany
	case f.Kind != "" && !asked:
		return media.Unasked
	case f.Kind != "" && !s.takes(f.Kind):
		return media.NoModel
	case f.Kind != "" && f.Size > int64(f.Kind.Limit()), f.Size > media.MaxVoice:
		return media.TooLarge
	}
	return ""
}

// takes reports whether a model takes files of a kind.
func (s *Service) takes(k media.Kind) bool {
	return k == media.Image && s.Images || k == media.Voice && s.Voice
}

// readFile fetches a file. It returns the text of the file, or sets what the file is and why it was not read.
func (s *Service) readFile(ctx context.Context, a Account, f *channel.Attachment, asked bool) (text string, err error) {
	raw, err := fetchFile(ctx, a, *f)
	if err != nil {
		f.Problem = media.Unavailable
		return "", err
	}
	if len(raw) == 0 {
		f.Problem = media.Empty
		return "", nil
	}
	kind, mime := media.Sniff(raw, f.Type)
	f.Kind = kind
	switch {
	case len(raw) > kind.Limit():
		f.Problem = media.TooLarge
	case kind == "":
		if text, err = s.FileText(raw); err != nil {
			f.Problem = media.Unknown
		} else if strings.TrimSpace(text) == "" {
			f.Problem, text = media.Empty, ""
		}
		return text, err
	case !asked:
		f.Problem = media.Unasked
	case !s.takes(kind):
		f.Problem = media.NoModel
	default:
		sum := sha256.Sum256(raw)
		f.Type, f.Content, f.SHA256 = mime, raw, hex.EncodeToString(sum[:])
	}
	return "", nil
}

// fetchFile reads a file from its platform. A file that is larger than all limits is cut one byte after them.
func fetchFile(ctx context.Context, a Account, f channel.Attachment) ([]byte, error) {
	fetcher, ok := a.Adapter.(Fetcher)
	if !ok {
		return nil, errors.New("the platform has no files")
	}
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	r, err := fetcher.Fetch(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, media.MaxVoice+1))
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	return raw, nil
}

// messageOf returns the message of an event. Its text names the images and the files that were not read, and ends with
// a mark for each recording.
func messageOf(e StoredEvent, observed bool) transcript.Message {
	m := transcript.Message{Role: transcript.User}
	parts, marks := []string{e.Text}, []string(nil)
	for i, f := range e.Attachments {
		switch {
		case f.Problem != "":
			parts = append(parts, fmt.Sprintf("[%s: not read]", strings.TrimSpace(f.Kind.Noun()+" "+f.Name)))
		case f.Kind == media.Voice:
			marks = append(marks, media.VoiceMark)
		case f.Kind == media.Image:
			parts = append(parts, media.ImageMark(f.Name, f.SHA256))
		}
		if f.Stored() && !(observed && f.Kind == media.Voice) {
			m.Attachments = append(m.Attachments, transcript.Attachment{Kind: f.Kind, Type: f.Type, Event: e.ID,
				Position: i})
		}
	}
	m.Content = strings.TrimSpace(strings.Join(append(parts, marks...), "\n\n"))
	return m
}

// unread returns the files of messages that were not read, and whether there is anything else to answer.
func unread(said []StoredEvent) (files []media.Unread, rest bool) {
	for _, e := range said {
		rest = rest || strings.TrimSpace(e.Text) != ""
		for _, f := range e.Attachments {
			if f.Problem != "" {
				files = append(files, media.Unread{Kind: f.Kind, Problem: f.Problem})
			}
			rest = rest || f.Stored()
		}
	}
	return files, rest
}

// language returns the language of notices.
func (p Profile) language(said []StoredEvent) string {
	var ms []transcript.Message
	for _, e := range said {
		ms = append(ms, transcript.Message{Role: transcript.User, Content: e.Text})
	}
	return cmp.Or(p.Language, lang.OfMessages(ms))
}

// typing shows that a reply is being written, where a platform can.
func (s *Service) typing(ctx context.Context, a Account, e channel.Event) {
	typer, ok := a.Adapter.(Typer)
	if !ok || e.Kind != channel.Message || e.Group && !e.Mentioned && !a.Profile.Unasked {
		return
	}
	if _, _, command := s.commandOf(e); command {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fileTime)
		defer cancel()
		if err := typer.Typing(ctx, e.Place); err != nil {
			s.Log.Debug("typing not shown", "account", a.Name, "error", err)
		}
	}()
}
