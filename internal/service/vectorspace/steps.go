package vectorspace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/index"
	"cairn/internal/domain/llm"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

const (
	batchSize    = 256           // documents per step
	allDocuments = math.MaxInt32 // limit of a count without a limit
	probeText    = "probe"
)

// Begin opens the progress of a re-embedding. Documents that were refused before are tried again.
func (s *Service) Begin(ctx context.Context, in contract.ReembedInput) error {
	return s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := alone(ctx, tx, in.Space); err != nil {
			return err
		}
		if err := tx.Reembeds().ForgetRefusals(ctx, in.Space); err != nil {
			return err
		}
		missing, err := tx.Spaces().Missing(ctx, in.Space, allDocuments)
		if err != nil {
			return err
		}
		if err := tx.Spaces().KeepPrevious(ctx, in.Space); err != nil {
			return err
		}
		return tx.Reembeds().Open(ctx, in.Space, missing.Documents, in.Rate)
	})
}

// Batch embeds the next documents and returns their number. It stores the vectors and its position
// in one transaction, so that a repeated call continues after it.
func (s *Service) Batch(ctx context.Context, in contract.ReembedBatchInput) (
	out contract.ReembedBatchResult, err error) {
	var at index.ReembedProgress
	var docs []index.SpaceDocument
	var embedder search.Space
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		space, err := tx.Spaces().Get(ctx, in.Space)
		if err != nil {
			return err
		}
		ok := false
		if embedder, ok = s.Registry.Serve(space); !ok {
			return Unserved(space)
		}
		if at, err = tx.Reembeds().Held(ctx, in.Space); err != nil {
			return err
		}
		if in.Again { // from the first document that has no vector yet
			at.Last = 0
		}
		docs, err = tx.Spaces().MissingAfter(ctx, in.Space, at.Last, batch(in.Rate))
		return err
	})
	if err != nil || len(docs) == 0 {
		return out, err
	}
	vectors, refused, err := embedAll(ctx, embedder.Embedder, docs)
	if err != nil {
		return out, fmt.Errorf("re-embed %d documents: %w", len(docs), err)
	}
	return contract.ReembedBatchResult{Documents: len(docs)}, s.store(ctx, in, at, docs, vectors, refused)
}

// batch is the number of documents of a step, at most one second's.
func batch(rate int) int {
	if rate > 0 {
		return min(rate, batchSize)
	}
	return batchSize
}

// store stores the vectors of a batch and the position after it. If another attempt was faster, it
// stores nothing. Documents whose text has changed get their vector later.
func (s *Service) store(ctx context.Context, in contract.ReembedBatchInput, at index.ReembedProgress,
	docs []index.SpaceDocument,
	vectors [][]float32, refused []error) error {
	return s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.Reembeds().Held(ctx, in.Space)
		if err != nil || !in.Again && now.Last != at.Last {
			return err
		}
		ids := make([]int64, len(docs))
		for i, d := range docs {
			ids[i] = d.ID
		}
		texts, err := tx.Spaces().Texts(ctx, ids)
		if err != nil {
			return err
		}
		var have, bad []int64
		var given [][]float32
		var reasons []string
		for i, d := range docs {
			switch text, found := texts[d.ID]; {
			case !found || text != d.Text:
			case refused[i] != nil:
				bad, reasons = append(bad, d.ID), append(reasons, refused[i].Error())
			default:
				have, given = append(have, d.ID), append(given, vectors[i])
			}
		}
		written, err := tx.Spaces().AddVectors(ctx, in.Space, have, given)
		if err != nil {
			return err
		}
		failed, err := tx.Spaces().AddRefusals(ctx, in.Space, bad, reasons)
		if err != nil {
			return err
		}
		return tx.Reembeds().Advance(ctx, in.Space,
			index.SpaceAdvance{Last: ids[len(ids)-1], Written: written, Failed: failed})
	})
}

// embedAll returns the vector of each document, or why the model refuses it. A model that refuses
// everything is an error.
func embedAll(ctx context.Context, e search.Embedder, docs []index.SpaceDocument) (vectors [][]float32, refused []error,
	err error) {
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	vectors, refused = make([][]float32, len(docs)), make([]error, len(docs))
	if err := embedPart(ctx, e, texts, vectors, refused); err != nil {
		return nil, nil, err
	}
	if errors.Join(refused...) != nil {
		if _, err := e.Embed(ctx, []string{probeText}); err != nil {
			return nil, nil, err
		}
	}
	return vectors, refused, nil
}

// embedPart embeds texts together. If the model refuses them, it halves them to find the texts that
// are refused.
func embedPart(ctx context.Context, e search.Embedder, texts []string, vectors [][]float32, refused []error) error {
	found, err := e.Embed(ctx, texts)
	if err == nil {
		copy(vectors, found)
		return nil
	}
	if !refuses(err) {
		return err
	}
	if len(texts) == 1 {
		refused[0] = err
		return nil
	}
	half := len(texts) / 2
	if err := embedPart(ctx, e, texts[:half], vectors[:half], refused[:half]); err != nil {
		return err
	}
	return embedPart(ctx, e, texts[half:], vectors[half:], refused[half:])
}

// refuses reports whether an endpoint refuses a text, and not the request as such.
func refuses(err error) bool {
	var f *llm.Error
	if !errors.As(err, &f) {
		return false
	}
	return f.Class == llm.ContextLength || f.Class == llm.Fatal && slices.Contains(refusals, f.Status)
}

// refusals are the HTTP statuses of invalid content: Bad Request, Content Too Large, Unprocessable
// Content.
var refusals = []int{400, 413, 422}

// residue is the number of documents without a vector up to which Switch may hand them over to the
// outbox.
const residue = 256

// Switch makes the space the one that the workspace uses, if every document has a vector in it or
// was refused. Otherwise it returns false. If so many documents are written that there are always
// some without a vector, HandOver leaves up to 256 of them to the outbox; they are found by their
// words until then.
func (s *Service) Switch(ctx context.Context, in contract.ReembedSwitchInput) (
	out contract.ReembedSwitchResult, err error) {
	most, documents := 1, 0
	if in.HandOver {
		most = residue + 1
	}
	check := func(ctx context.Context, tx store.Tx) (missing int, err error) {
		size, err := tx.Spaces().Missing(ctx, in.Space, most)
		return size.Documents, err
	}
	missing := 0
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error { // without the lock
		size, err := tx.Spaces().Totals(ctx)
		if err != nil {
			return err
		}
		documents = size.Documents
		missing, err = check(ctx, tx)
		return err
	})
	if err != nil || missing >= most {
		return out, err
	}
	if s.Graph != nil {
		if err := s.Graph(ctx, in.Workspace, in.Space, documents); err != nil {
			return out, fmt.Errorf("build the graph: %w", err)
		}
	}
	err = s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Spaces().Lock(ctx); err != nil {
			return err
		}
		if missing, err = check(ctx, tx); err != nil || missing >= most {
			return err
		}
		rest, err := tx.Spaces().MissingAfter(ctx, in.Space, 0, residue)
		if err != nil {
			return err
		}
		pending := make([]int64, len(rest))
		for i, d := range rest {
			pending[i] = d.ID
		}
		if err := tx.Spaces().Owe(ctx, pending); err != nil {
			return err
		}
		if err := tx.Spaces().Switch(ctx, in.Space); err != nil {
			return err
		}
		out.Done = true
		return tx.Reembeds().Mark(ctx, in.Space, Completed, "")
	})
	s.Registry.forget(in.Workspace)
	out.Done = out.Done && err == nil
	return out, err
}

// Mark stores the state of a re-embedding.
func (s *Service) Mark(ctx context.Context, in contract.ReembedMarkInput) error {
	return s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Reembeds().Mark(ctx, in.Space, in.State, in.Reason)
	})
}
