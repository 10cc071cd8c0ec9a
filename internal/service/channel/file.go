package channel

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/transcript"
)

// Limits of the files of a message.
const (
	mostFiles     = 5
	mostFileBytes = 20 << 20
	mostFileRunes = 20_000 // of the text of all files
	fileTime      = 30 * time.Second
)

// withFiles returns an event whose text also has that of its files. A file that cannot be read is named; the platform
// is not asked again, because that would stop the events after it.
func (s *Service) withFiles(ctx context.Context, a Account, e channel.Event) channel.Event {
	if len(e.Attachments) == 0 || e.Kind != channel.Message {
		return e
	}
	left := mostFileRunes
	parts, read := []string{e.Text}, false
	for i, f := range e.Attachments {
		name := strings.Join(strings.Fields(f.Name), " ")
		text, err := "", fmt.Errorf("a message can have %d files", mostFiles)
		if i < mostFiles {
			text, err = s.readFile(ctx, a, f)
		}
		if err != nil {
			s.Log.Info("file not read", "account", a.Name, "error", err)
			parts = append(parts, fmt.Sprintf("[file %s: not read]", name))
			continue
		}
		read = true
		text = transcript.Clip(text, left)
		left -= len([]rune(text))
		parts = append(parts, fmt.Sprintf("[file %s]\n%s", name, text))
	}
	if read || strings.TrimSpace(e.Text) != "" { // else the user is told that nothing can be read
		e.Text = strings.TrimSpace(strings.Join(parts, "\n\n"))
	}
	return e
}

func (s *Service) readFile(ctx context.Context, a Account, f channel.Attachment) (string, error) {
	fetcher, ok := a.Adapter.(Fetcher)
	if !ok || f.Size > mostFileBytes {
		return "", fmt.Errorf("files of up to %d bytes can be read", mostFileBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	r, err := fetcher.Fetch(ctx, f)
	if err != nil {
		return "", fmt.Errorf("fetch a file: %w", err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, mostFileBytes+1))
	if err == nil && len(raw) > mostFileBytes {
		err = fmt.Errorf("a file has more than %d bytes", mostFileBytes)
	}
	if err != nil {
		return "", err
	}
	return s.FileText(raw)
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
