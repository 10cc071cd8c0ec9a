package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
)

// Limits of the files of a message.
const (
	maxFiles     = media.MaxImages
	maxFileRunes = 20_000 // of the text of all files
	fileTime     = 30 * time.Second
)

// Limits of reading files.
const (
	readAtOnce = 4                // events, by this process
	filesLease = 90 * time.Second // of an event; each file that was read extends it
	filesTime  = 4 * time.Minute  // of all files of an event
)

// readSoon reads the files of the events of an account that no process reads. If too many are being read, readLost does
// it.
func (s *Service) readSoon(ctx context.Context, a Account) {
	select {
	case s.reading <- struct{}{}:
	default:
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer func() { <-s.reading }()
		for {
			claimed, err := s.Store.ClaimFiles(ctx, a.Name, filesLease, 1)
			if err != nil {
				s.Log.Warn("files not claimed", "account", a.Name, "error", err)
			}
			if len(claimed) == 0 {
				return
			}
			s.readEvent(ctx, a, claimed[0])
		}
	}()
}

// readLost reads the files that another process has not read, until ctx is done.
func (s *Service) readLost(ctx context.Context, a Account) {
	tick := time.NewTicker(leaseExtend)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.readSoon(ctx, a)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// errHandled means that an event was handled without its files, or erased.
var errHandled = errors.New("the event is handled without its files")

// readEvent reads the files of a claimed event, and handles the event.
func (s *Service) readEvent(ctx context.Context, a Account, ref channel.EventRef) {
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	ws, route, e, found, err := s.Store.EventFiles(ctx, ref)
	if err == nil && found {
		err = s.withFiles(ctx, a, &e, func() error {
			stored, err := s.Store.PutEventFiles(ctx, ref, route, e, filesLease)
			if err == nil && !stored {
				err = errHandled
			}
			return err
		})
	}
	switch {
	case errors.Is(err, errHandled):
	case err != nil: // the claim ends, and the files are read again, except those whose parsing has begun
		s.Log.Warn("files of an event not read", "account", a.Name, "event", ref.ID, "error", err)
	case found:
		s.handleSoon(ctx, place{ws, route}, a)
	}
}

// withFiles adds the text of its files to an event, and the content of its images and recordings. It saves what is
// known before and after each parsing, so that none is repeated. The platform is not asked again for a file that it
// does not give.
func (s *Service) withFiles(ctx context.Context, a Account, e *channel.Event, save func() error) error {
	asked, left := !e.Group || e.Mentioned || a.Profile.Unasked, maxFileRunes
	for _, f := range e.Attachments {
		left -= f.Runes
	}
	for i := range e.Attachments {
		f := &e.Attachments[i]
		if f.Done {
			continue
		}
		f.Name = strings.Join(strings.Fields(f.Name), " ")
		f.Kind = media.Stated(f.Type)
		text := ""
		if f.Problem = s.unwanted(*f, i, asked); f.Problem == "" {
			var err error
			if text, err = s.readFile(ctx, a, f, asked, save); err != nil {
				return err
			}
		}
		if text != "" && left <= 0 { // Clip would not limit it
			f.Problem, text = media.TooLarge, ""
		}
		if text != "" {
			text = transcript.Clip(text, left)
			f.Runes = utf8.RuneCountInString(text)
			left -= f.Runes
			e.Text = strings.TrimSpace(fmt.Sprintf("%s\n\n[file %s]\n%s", e.Text, f.Name, text))
		}
		f.Done = true
		if err := save(); err != nil {
			return err
		}
		f.Content = nil
	}
	return nil
}

// withoutOpenFiles marks files that were not read in time. What is handled again has the same marks, because no process
// reads the files of an event that is handled.
func withoutOpenFiles(said []channel.StoredEvent) []channel.StoredEvent {
	for _, e := range said {
		for i := range e.Attachments {
			if f := &e.Attachments[i]; !f.Done && f.Problem == "" {
				f.Kind, f.Problem = media.Stated(f.Type), media.Unavailable
			}
		}
	}
	return said
}

// unwanted returns why a file is not fetched, by what the sender states about it.
func (s *Service) unwanted(f channel.Attachment, position int, asked bool) media.Problem {
	switch {
	case position >= maxFiles:
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

// readFile fetches a file. It returns the text of the file, or sets what the file is and why it was not read. An error
// means that neither could be saved, or that there is no time left.
func (s *Service) readFile(ctx context.Context, a Account, f *channel.Attachment, asked bool, save func() error) (
	text string, err error) {
	raw, err := fetchFile(ctx, a, *f)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		s.Log.Info("file not fetched", "account", a.Name, "error", err)
		f.Problem = media.Unavailable
		return "", nil
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
		return s.fileText(ctx, a, f, raw, save)
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

// fileText parses a file, unless that was begun before: the process that did may have died of it.
func (s *Service) fileText(ctx context.Context, a Account, f *channel.Attachment, raw []byte, save func() error) (
	text string, err error) {
	if f.Parsed {
		f.Problem = media.Unknown
		return "", nil
	}
	f.Parsed = true
	if err := save(); err != nil {
		return "", err
	}
	text, err = s.FileText(ctx, raw)
	switch {
	case err != nil:
		s.Log.Info("file not read", "account", a.Name, "error", err)
		f.Problem, text = media.Unknown, ""
	case strings.TrimSpace(text) == "":
		f.Problem, text = media.Empty, ""
	}
	return text, nil
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
func messageOf(e channel.StoredEvent, observed bool) transcript.Message {
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
func unread(said []channel.StoredEvent) (files []media.Unread, rest bool) {
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
