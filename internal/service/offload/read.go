package offload

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
)

// mostBlobs is how many blobs of one session are searched, the oldest first.
const mostBlobs = 5_000

// Content is what stands behind a handle: a text, or messages.
type Content struct {
	Handle   string
	Kind     workingmemory.Kind
	Label    string
	Text     string
	Messages []transcript.Message
}

// Fetch gives back what stands behind a handle.
func (s *Service) Fetch(ctx context.Context, ws int64, at workingmemory.Where) (out Content, err error) {
	b, err := s.blob(ctx, ws, at)
	if err != nil {
		return out, err
	}
	out = Content{Handle: b.Handle(), Kind: b.Kind, Label: b.Label}
	if b.Kind == workingmemory.Messages {
		out.Messages, err = b.Messages()
	} else {
		out.Text = b.Content
	}
	return out, err
}

// Reload gives a thread its tool results back: each pointer is replaced by what
// it stands for.
func (s *Service) Reload(ctx context.Context, ws int64, ms []transcript.Message) ([]transcript.Message, error) {
	if len(ms) == 0 || len(ms) > MaxMessages {
		return nil, fault.Newf(fault.InvalidArgument, "there are %d messages, and must be 1 to %d", len(ms),
			MaxMessages)
	}
	out := append([]transcript.Message(nil), ms...)
	for i := range out {
		handle := workingmemory.Pointed(out[i].Content)
		if handle == "" || out[i].Role != transcript.Tool {
			continue
		}
		b, err := s.blob(ctx, ws, workingmemory.Where{Handle: handle})
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out[i].Content = b.Content
	}
	return out, nil
}

// Read returns lines of what stands behind a handle.
func (s *Service) Read(ctx context.Context, ws int64, at workingmemory.Where, offset, limit int) (workingmemory.Page,
	error) {
	if _, err := workingmemory.Read("", offset, limit); err != nil { // before anything is looked for
		return workingmemory.Page{}, err
	}
	b, err := s.blob(ctx, ws, at)
	if err != nil {
		return workingmemory.Page{}, err
	}
	text, err := b.Text()
	if err != nil {
		return workingmemory.Page{}, err
	}
	return workingmemory.Read(text, offset, limit)
}

// Grep looks for a pattern behind a handle, or in all that a session has put away.
func (s *Service) Grep(ctx context.Context, ws int64, at workingmemory.Where,
	p workingmemory.Pattern) (workingmemory.Hits, error) {
	f, err := workingmemory.NewFinder(p)
	if err != nil {
		return workingmemory.Hits{}, err
	}
	look := func(b workingmemory.Blob) error {
		text, err := b.Text()
		if err == nil {
			f.Look(b.Handle(), b.Label, text)
		}
		return err
	}
	if at.Handle != "" {
		b, err := s.blob(ctx, ws, at)
		if err != nil {
			return workingmemory.Hits{}, err
		}
		if err := look(b); err != nil {
			return workingmemory.Hits{}, err
		}
		return f.Found(), nil
	}
	if at.Session.Key() == "" {
		return workingmemory.Hits{}, fault.New(fault.InvalidArgument, "there is neither a handle nor a session",
			"name one of them")
	}
	err = s.Store.WithOffload(ctx, ws, func(ctx context.Context, tx Tx) error {
		all, err := tx.Items().OffloadedBy(ctx, at.Session, mostBlobs)
		if err == nil && len(all) == 0 {
			err = fault.New(fault.NotFound, "nothing was put away here, or it has expired",
				"look at what the conversation itself says")
		}
		if err != nil {
			return err
		}
		for _, sha := range all {
			b, found, err := tx.Items().Offloaded(ctx, at.Session, sha)
			if err != nil {
				return err
			}
			if !found { // it has expired since
				continue
			}
			if err := look(b); err != nil {
				return err
			}
		}
		return nil
	})
	return f.Found(), err
}

func (s *Service) blob(ctx context.Context, ws int64, at workingmemory.Where) (b workingmemory.Blob, err error) {
	sha, err := workingmemory.ParseHandle(at.Handle)
	if err != nil {
		return b, err
	}
	if err := checkSession(at.Session.Name); err != nil {
		return b, err
	}
	err = s.Store.WithOffload(ctx, ws, func(ctx context.Context, tx Tx) error {
		found := false
		if b, found, err = tx.Items().Offloaded(ctx, at.Session, sha); err == nil && !found {
			err = fault.New(fault.NotFound, fmt.Sprintf("nothing stands behind %s", at.Handle),
				"it was never put away here, or its time is over")
		}
		return err
	})
	return b, err
}
