package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"time"

	"github.com/klauspost/compress/zstd"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/service/distill"
	"cairn/internal/store"
)

// Distills accepts conversations to distill.
type Distills interface {
	Accept(ctx context.Context, r distill.Request) (run.Run, bool, error)
}

// Ports are what a Service needs.
type Ports struct {
	Store       store.Imports
	Distills    Distills
	DistillSpec func() distill.Spec
}

// Service imports session files. It is safe for concurrent use.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{p}
}

// Request is a request to import files that a Reader has read.
type Request struct {
	Workspace int64
	Files     []File
	Options
	Distill bool               // also distill the conversations
	Outcome transcript.Verdict // of the conversations, as a person states it; may be empty
	After   time.Duration      // until the relay stores the conversations, unless the caller calls StoreConversations
}

// Accept stores files durably. Their conversations follow. A repeated file is not stored again.
func (s *Service) Accept(ctx context.Context, r Request) ([]conversation.Import, error) {
	var files []conversation.NewImport
	for _, f := range r.Files {
		one := conversation.NewImport{
			Name:         f.Name,
			Format:       r.Format,
			AllowUnknown: r.AllowUnknown,
			Distill:      r.Distill,
			Outcome:      r.Outcome,
			SHA256:       sha256.Sum256(f.Content),
			Bytes:        int64(len(f.Content)),
			Report:       f.Result.Report,
		}
		var err error
		if one.Compressed, err = compressed(f.Content); err != nil {
			return nil, err
		}
		files = append(files, one)
	}
	ids, made, err := s.Store.PutImports(ctx, r.Workspace, files, r.After)
	if err != nil {
		return nil, err
	}
	var out []conversation.Import
	for i, id := range ids {
		one, err := s.Get(ctx, r.Workspace, id)
		if err != nil {
			return nil, err
		}
		one.New = made[i]
		out = append(out, one)
	}
	return out, nil
}

// StoreConversations stores the conversations of an accepted file, each in a transaction, and continues where an
// earlier call ended. A file that was erased is not an error.
func (s *Service) StoreConversations(ctx context.Context, ws access.Workspace, id int64) error {
	stored, err := s.Store.Import(ctx, ws.ID, id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && stored.Ended {
		return nil
	}
	if err != nil {
		return err
	}
	result, err := readImport(stored)
	if err != nil {
		return err
	}
	for n := stored.Stored; n < len(result.Conversations); n++ {
		c := result.Conversations[n]
		if stored.Distill {
			if err := s.distill(ctx, ws, id, stored.Outcome, c); err != nil {
				return fmt.Errorf("distill conversation %d of import %d: %w", n, id, err)
			}
		}
		ok, err := s.Store.PutConversation(ctx, ws.ID, id, n, c, n == len(result.Conversations)-1)
		if err != nil || !ok {
			return err
		}
	}
	return nil
}

// distill accepts a conversation to distill, under the ID that it is stored with. A longer version of its session is
// distilled with the file that has it.
func (s *Service) distill(ctx context.Context, ws access.Workspace, id int64, outcome transcript.Verdict,
	c transcript.Conversation) error {
	at, ok, err := s.Store.Place(ctx, ws.ID, id, c)
	if err != nil || !ok || at.Longer {
		return err
	}
	spec := s.DistillSpec()
	spec.Outcome, c.ID = outcome, at.ID
	_, _, err = s.Distills.Accept(ctx, distill.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: c,
		Channel: conversation.ImportChannel, Spec: spec})
	return err
}

// Placed returns conversations of an import under the IDs that they are stored with, without those of which a longer
// version is stored.
func (s *Service) Placed(ctx context.Context, ws, id int64, all []transcript.Conversation) (
	out []transcript.Conversation, err error) {
	for _, c := range all {
		at, ok, err := s.Store.Place(ctx, ws, id, c)
		if err != nil {
			return nil, err
		}
		if ok && !at.Longer {
			c.ID = at.ID
			out = append(out, c)
		}
	}
	return out, nil
}

// Reparse reads a file again, with the formats that this version knows. Conversations that are read as before are not
// stored again. Those that are read differently are stored in addition.
func (s *Service) Reparse(ctx context.Context, ws, id int64, after time.Duration) (conversation.Import, error) {
	stored, err := s.Store.Import(ctx, ws, id)
	if err != nil {
		return conversation.Import{}, err
	}
	result, err := readImport(stored)
	if err != nil {
		return conversation.Import{}, err
	}
	if err := s.Store.Reparse(ctx, ws, id, result.Report, after); err != nil {
		return conversation.Import{}, err
	}
	return s.Get(ctx, ws, id)
}

// Get returns an import, or NotFound.
func (s *Service) Get(ctx context.Context, ws, id int64) (conversation.Import, error) {
	found, err := s.Store.Page(ctx, ws, id, 0, 1)
	if err == nil && len(found) == 0 || id <= 0 {
		err = fault.New(fault.NotFound, fmt.Sprintf("import %d not found", id), "`cairn import list` lists the imports")
	}
	if err != nil {
		return conversation.Import{}, err
	}
	return found[0], nil
}

// List returns up to max imports before an ID, 0 for the latest ones.
func (s *Service) List(ctx context.Context, ws, before int64, max int) ([]conversation.Import, error) {
	return s.Store.Page(ctx, ws, 0, before, max)
}

// readImport reads the stored file.
func readImport(i conversation.StoredImport) (format.Result, error) {
	inner, err := zstd.NewReader(bytes.NewReader(i.Compressed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return format.Result{}, damaged(err, i.Name)
	}
	defer inner.Close()
	return format.Read(path.Base(i.Name), inner, format.Options{Format: i.Format, AllowUnknown: i.AllowUnknown,
		Limit: MaxArchive})
}

func compressed(content []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress a file: %w", err)
	}
	defer w.Close()
	return w.EncodeAll(content, nil), nil
}
