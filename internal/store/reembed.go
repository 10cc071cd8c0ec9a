package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// VectorSpaces implements the store of the service vectorspace.
type VectorSpaces struct{ *Store }

// VectorSpaces returns the store of the service vectorspace.
func (s *Store) VectorSpaces() VectorSpaces { return VectorSpaces{s} }

// Workspaces lists workspaces.
func (s VectorSpaces) Workspaces(ctx context.Context, after int64, max int) (out []access.Workspace, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.WorkspacesAll(ctx, dbsqlc.WorkspacesAllParams{After: after, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, access.Workspace{ID: r.ID, Name: r.ExternalID, Key: r.Key})
		}
		return classify("list the workspaces", err)
	})
	return out, err
}

// Spaces lists all spaces with the number of the workspace's vectors.
func (q SpaceRepository) Spaces(ctx context.Context) ([]index.SpaceState, error) {
	rows, err := q.q.SpacesOf(ctx, q.ws)
	out := make([]index.SpaceState, len(rows))
	for i, r := range rows {
		out[i] = index.SpaceState{Space: index.Space{ID: r.ID, Model: r.Model, Dims: int(r.Dims)},
			Retired: r.State == "retired", Active: r.Active, Previous: r.Previous, Vectors: int(r.Vectors)}
	}
	return out, classify("list the embedding spaces", err)
}

// Get returns a space.
func (q SpaceRepository) Get(ctx context.Context, space int16) (index.Space, error) {
	r, err := q.q.SpaceGet(ctx, space)
	if isNoRows(err) {
		return index.Space{}, fault.Newf(fault.NotFound, "embedding space %d not found", space)
	}
	return index.Space{ID: r.ID, Model: r.Model, Dims: int(r.Dims)}, classify("read the embedding space", err)
}

// Previous returns the space that the workspace can return to.
func (q SpaceRepository) Previous(ctx context.Context) (index.Space, bool, error) {
	r, err := q.q.SpacePrevious(ctx, q.ws)
	if isNoRows(err) {
		return index.Space{}, false, nil
	}
	return index.Space{ID: r.ID, Model: r.Model, Dims: int(r.Dims)}, err == nil,
		classify("read the previous space", err)
}

// KeepPrevious extends the time in which the workspace can return to a space.
func (q SpaceRepository) KeepPrevious(ctx context.Context, space int16) error {
	return classify("keep the previous space", q.q.SpacePreviousKeep(ctx,
		dbsqlc.SpacePreviousKeepParams{WorkspaceID: q.ws, Space: space}))
}

// Lock waits for writers of documents.
func (q SpaceRepository) Lock(ctx context.Context) error {
	_, err := q.q.SpaceLockAll(ctx, q.ws)
	return classify("lock the workspace", err)
}

// Switch makes a space the one that the workspace uses.
func (q SpaceRepository) Switch(ctx context.Context, space int16) error {
	return classify("change the workspace's space", q.q.SpaceSwitch(ctx,
		dbsqlc.SpaceSwitchParams{WorkspaceID: q.ws, Space: space}))
}

// Totals sums the documents of the workspace.
func (q SpaceRepository) Totals(ctx context.Context) (index.SpaceSize, error) {
	r, err := q.q.SpaceDocuments(ctx, q.ws)
	return index.SpaceSize{Documents: int(r.Documents), Characters: r.Characters}, classify("count the documents", err)
}

// Missing sums documents without a vector.
func (q SpaceRepository) Missing(ctx context.Context, space int16, max int) (index.SpaceSize, error) {
	r, err := q.q.SpaceMissing(ctx, dbsqlc.SpaceMissingParams{WorkspaceID: q.ws, Space: space, MaxRows: int32(max)})
	return index.SpaceSize{Documents: int(r.Documents), Characters: r.Characters},
		classify("count the documents without a vector", err)
}

// MissingAfter reads documents without a vector.
func (q SpaceRepository) MissingAfter(ctx context.Context, space int16, after int64, max int) (
	[]index.SpaceDocument, error) {
	rows, err := q.q.SpaceMissingDocs(ctx, dbsqlc.SpaceMissingDocsParams{WorkspaceID: q.ws, Space: space, After: after,
		MaxRows: int32(max)})
	out := make([]index.SpaceDocument, len(rows))
	for i, r := range rows {
		out[i] = index.SpaceDocument{ID: r.Doc, Text: r.Text}
	}
	return out, classify("read the documents without a vector", err)
}

// Texts returns and locks the texts of documents.
func (q SpaceRepository) Texts(ctx context.Context, docs []int64) (map[int64]string, error) {
	rows, err := q.q.DocTextsLock(ctx, dbsqlc.DocTextsLockParams{WorkspaceID: q.ws, Docs: docs})
	out := make(map[int64]string, len(rows))
	for _, r := range rows {
		out[r.Doc] = r.Text
	}
	return out, classify("read the documents", err)
}

// AddVectors stores the vectors that do not exist.
func (q SpaceRepository) AddVectors(ctx context.Context, space int16, docs []int64, vectors [][]float32) (int, error) {
	if len(docs) == 0 {
		return 0, nil
	}
	n, err := q.q.EmbeddingsAdd(ctx, dbsqlc.EmbeddingsAddParams{WorkspaceID: q.ws, Space: space, Docs: docs,
		Vectors: halves(vectors)})
	return int(n), classify("store the vectors", err)
}

// AddRefusals stores which documents a model refused.
func (q SpaceRepository) AddRefusals(ctx context.Context, space int16, docs []int64, reasons []string) (int, error) {
	if len(docs) == 0 {
		return 0, nil
	}
	for i, r := range reasons {
		reasons[i] = storable(r)
	}
	n, err := q.q.RefusalsAdd(ctx, dbsqlc.RefusalsAddParams{WorkspaceID: q.ws, Space: space, Docs: docs,
		Reasons: reasons})
	return int(n), classify("record the refused documents", err)
}

// Owe enqueues the embedding of documents.
func (q SpaceRepository) Owe(ctx context.Context, docs []int64) error {
	for _, doc := range docs {
		if err := q.transaction().Outbox().Enqueue(ctx, outbox.EmbedDoc, fmt.Sprint(doc), 0); err != nil {
			return err
		}
	}
	return nil
}

// Open begins a re-embedding, or begins an ended one again.
func (q ReembedRepository) Open(ctx context.Context, space int16, total, rate int) error {
	return classify("open the re-embedding", q.q.ReembedOpen(ctx, dbsqlc.ReembedOpenParams{WorkspaceID: q.ws,
		Space: space, Total: int32(total), Rate: int32(rate)}))
}

// Held returns the progress and locks it.
func (q ReembedRepository) Held(ctx context.Context, space int16) (index.ReembedProgress, error) {
	r, err := q.q.ReembedLock(ctx, dbsqlc.ReembedLockParams{WorkspaceID: q.ws, Space: space})
	return index.ReembedProgress{Space: r.Space, Last: r.LastDoc, Done: int(r.Done), Total: int(r.Total),
		Failed: int(r.Failed), Rate: int(r.Rate), State: r.State, Reason: r.Reason, StartedAt: r.StartedAt,
		FinishedAt: r.FinishedAt}, classify("read the re-embedding", err)
}

// Last returns the latest re-embedding of the workspace.
func (q ReembedRepository) Last(ctx context.Context) (index.ReembedProgress, bool, error) {
	r, err := q.q.ReembedLast(ctx, q.ws)
	if isNoRows(err) {
		return index.ReembedProgress{}, false, nil
	}
	return index.ReembedProgress{Space: r.Space, Model: r.Model, Dims: int(r.Dims), Last: r.LastDoc, Done: int(r.Done),
		Total: int(r.Total), Failed: int(r.Failed), Rate: int(r.Rate), State: r.State, Reason: r.Reason,
		StartedAt: r.StartedAt, FinishedAt: r.FinishedAt}, err == nil, classify("read the re-embedding", err)
}

// Advance records one step.
func (q ReembedRepository) Advance(ctx context.Context, space int16, to index.SpaceAdvance) error {
	return classify("advance the re-embedding", q.q.ReembedAdvance(ctx, dbsqlc.ReembedAdvanceParams{WorkspaceID: q.ws,
		Space: space, LastDoc: to.Last, Written: int32(to.Written), Refused: int32(to.Failed),
		Handled: int32(to.Written + to.Failed)}))
}

// Mark stores the state of a re-embedding.
func (q ReembedRepository) Mark(ctx context.Context, space int16, state, reason string) error {
	return classify("record the state of the re-embedding", q.q.ReembedMark(ctx, dbsqlc.ReembedMarkParams{
		WorkspaceID: q.ws, Space: space, State: state, Reason: storable(reason)}))
}

// Refusals lists documents that a model refused.
func (q ReembedRepository) Refusals(ctx context.Context, space int16, max int) ([]index.Refusal, error) {
	rows, err := q.q.RefusalsList(ctx, dbsqlc.RefusalsListParams{WorkspaceID: q.ws, Space: space, MaxRows: int32(max)})
	var out []index.Refusal
	for _, r := range rows {
		out = append(out, index.Refusal{Kind: r.Kind, Name: r.Name, Reason: r.Reason})
	}
	return out, classify("list the refused documents", err)
}

// ForgetRefusals makes refused documents be tried again.
func (q ReembedRepository) ForgetRefusals(ctx context.Context, space int16) error {
	return classify("forget the refused documents", q.q.RefusalsForget(ctx,
		dbsqlc.RefusalsForgetParams{WorkspaceID: q.ws, Space: space}))
}
