package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/store/dbsqlc"
)

// Space finds or creates the embedding space of a model.
func (s *Store) Space(ctx context.Context, model string, dims int) (int16, error) {
	var id int16
	err := s.asApp(ctx, func(q *dbsqlc.Queries) (err error) {
		id, err = q.SpaceOpen(ctx, dbsqlc.SpaceOpenParams{Model: model, Dims: int32(dims)})
		return err
	})
	return id, classify("open the embedding space", err)
}

// oweSpaces is called after vectors of one space were stored. The first vector of a workspace
// chooses its space. If the workspace uses another space, or builds one, outbox tasks add those
// vectors.
func (q DocumentRepository) oweSpaces(ctx context.Context, space int16, docs []int64) error {
	if len(docs) == 0 {
		return nil
	}
	now, err := q.q.SpaceLock(ctx, q.ws)
	if err == nil && now.Space == 0 {
		if err = q.q.SpaceChoose(ctx,
			dbsqlc.SpaceChooseParams{WorkspaceID: q.ws, Space: space}); err == nil {
			now, err = q.q.SpaceLock(ctx, q.ws)
		}
	}
	if err != nil || now.Space == space && !now.Building {
		return classify("read the workspace's space", err)
	}
	return classify("enqueue the embedding of documents",
		q.q.OutboxPutEmbeds(ctx, dbsqlc.OutboxPutEmbedsParams{WorkspaceID: q.ws, Docs: docs}))
}

// DocText returns the text that is embedded for a document, and the spaces of its vectors.
func (q DocumentRepository) DocText(ctx context.Context, doc int64) (string, []int16, error) {
	text, err := q.q.DocText(ctx, dbsqlc.DocTextParams{WorkspaceID: q.ws, Doc: doc})
	if isNoRows(err) {
		return "", nil, fault.New(fault.NotFound, fmt.Sprintf("document %d not found", doc), "it was deleted")
	}
	if err != nil {
		return "", nil, classify("read the document's text", err)
	}
	spaces, err := q.q.DocSpaces(ctx, dbsqlc.DocSpacesParams{WorkspaceID: q.ws, Doc: doc})
	return text, spaces, classify("read the document's vectors", err)
}

// PutVectors stores vectors of a document by space. See relay.Tx.
func (q DocumentRepository) PutVectors(ctx context.Context, doc int64, vectors map[int16][]float32,
	active int16) error {
	for space, v := range vectors {
		if err := q.PutEmbedding(ctx, doc, space, v); err != nil {
			return err
		}
		if active == 0 {
			if err := q.q.SpaceChoose(ctx, dbsqlc.SpaceChooseParams{WorkspaceID: q.ws, Space: space}); err != nil {
				return classify("choose the workspace's space", err)
			}
		}
	}
	now, err := q.q.SpaceLock(ctx, q.ws)
	if err != nil || now.Space == active {
		return classify("read the workspace's space", err)
	}
	_, has, err := q.DocText(ctx, doc)
	for _, space := range has {
		if space == now.Space {
			return nil
		}
	}
	if err == nil {
		err = fault.New(fault.Unavailable, "the workspace has changed its embedding space", "")
	}
	return err
}

// UsedSpaces returns the spaces of a workspace.
func (s *Store) UsedSpaces(ctx context.Context, ws int64) (index.SpaceUse, error) {
	return inWorkspace(ctx, s, ws, func(ctx context.Context, q Tx) (out index.SpaceUse, err error) {
		rows, err := q.q.SpacesUsed(ctx, ws)
		for _, r := range rows {
			one := index.Space{ID: r.ID, Model: r.Model, Dims: int(r.Dims)}
			if r.Active {
				out.Active = one
			} else {
				out.Building = append(out.Building, one)
			}
		}
		return out, classify("read the workspace's spaces", err)
	})
}
