package offload

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/store"
)

// maxBlobs is the maximum number of blobs that a search of a session reads, oldest first.
const maxBlobs = 5_000

// Content is the content of a handle: a text or messages.
type Content struct {
	Handle   string
	Kind     workingmemory.Kind
	Label    string
	Text     string
	Messages []transcript.Message
}

// Fetch returns the content of a handle.
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

// Reload restores the tool results of a thread: it replaces each handle by its content.
func (s *Service) Reload(ctx context.Context, ws int64, ms []transcript.Message) ([]transcript.Message, error) {
	if len(ms) == 0 || len(ms) > MaxMessages {
		return nil, fault.Newf(fault.InvalidArgument, "invalid number of messages %d: must be 1 to %d", len(ms),
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

// Read returns lines of the content of a handle.
func (s *Service) Read(ctx context.Context, ws int64, at workingmemory.Where, offset, limit int) (workingmemory.Page,
	error) {
	if _, err := workingmemory.Read("", offset, limit); err != nil { // validates the arguments
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

// Grep searches a pattern in the content of a handle or in all content of a session.
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
		return workingmemory.Hits{}, fault.New(fault.InvalidArgument, "missing handle and session",
			"send a handle or a session")
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		all, err := tx.Offloads().OffloadedBy(ctx, at.Session, maxBlobs)
		if err == nil && len(all) == 0 {
			err = fault.New(fault.NotFound, "no offloaded content, or it has expired",
				"use the messages of the conversation")
		}
		if err != nil {
			return err
		}
		for _, sha := range all {
			b, found, err := tx.Offloads().Offloaded(ctx, at.Session, sha)
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
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		found := false
		if b, found, err = tx.Offloads().Offloaded(ctx, at.Session, sha); err == nil && !found {
			err = fault.New(fault.NotFound, fmt.Sprintf("handle %s not found", at.Handle),
				"use a handle from this conversation that has not expired")
		}
		return err
	})
	return b, err
}
