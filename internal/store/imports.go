package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// Imports implements the store of the service intake.
type Imports struct{ *Store }

// Imports returns the store of the service intake.
func (s *Store) Imports() Imports { return Imports{s} }

// PutImports stores files that are to be imported, and returns their IDs. A file that the workspace has already keeps
// its ID. The relay stores their conversations after a time.
func (s Imports) PutImports(ctx context.Context, ws int64, files []conversation.NewImport, after time.Duration) (
	ids []int64, made []bool, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		ids, made = nil, nil
		for _, f := range files {
			id, isNew, err := q.putImport(ctx, f, after)
			if err != nil {
				return err
			}
			ids, made = append(ids, id), append(made, isNew)
		}
		return nil
	})
	return ids, made, err
}

func (q Tx) putImport(ctx context.Context, f conversation.NewImport, after time.Duration) (id int64, made bool,
	err error) {
	report, err := encode("the report of an import", f.Report)
	if err != nil {
		return 0, false, err
	}
	id, err = q.q.ImportPut(ctx, dbsqlc.ImportPutParams{WorkspaceID: q.ws, Sha256: f.SHA256[:], Name: storable(f.Name),
		Format: f.Format, AllowUnknown: f.AllowUnknown, Distill: f.Distill, Outcome: string(f.Outcome), Report: report,
		Bytes:   f.Bytes,
		Content: f.Compressed})
	if isNoRows(err) {
		id, err = q.q.ImportID(ctx, dbsqlc.ImportIDParams{WorkspaceID: q.ws, Sha256: f.SHA256[:]})
		return id, false, classify("find an import", err)
	}
	if err != nil {
		return 0, false, classify("store an import", err)
	}
	key := strconv.FormatInt(id, 10)
	if err := q.Outbox().Enqueue(ctx, outbox.StoreImport, key, after); err != nil {
		return 0, false, err
	}
	return id, true, q.transaction().Operations().Record(ctx, audit.SessionsImport, key)
}

// Import returns an import with its file.
func (s Imports) Import(ctx context.Context, ws, id int64) (out conversation.StoredImport, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		r, err := q.q.ImportFile(ctx, dbsqlc.ImportFileParams{WorkspaceID: q.ws, ID: id})
		if isNoRows(err) {
			return noImport(id)
		}
		out = conversation.StoredImport{Name: r.Name, Format: r.Format, AllowUnknown: r.AllowUnknown,
			Distill: r.Distill,
			Outcome: transcript.Verdict(r.Outcome), Compressed: r.Content, Stored: int(r.Stored), Ended: r.Ended}
		return classify("read an import", err)
	})
	return out, err
}

func noImport(id int64) error {
	return fault.New(fault.NotFound, fmt.Sprintf("import %d not found", id), "`cairn import list` lists the imports")
}

// PutConversation stores conversation number n of the latest reading. Ok is false if another process has stored it, or
// the file was erased.
func (s Imports) PutConversation(ctx context.Context, ws, id int64, n int, c transcript.Conversation, last bool) (
	ok bool, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		at, err := q.transaction().Transcripts().putImported(ctx, c)
		if err != nil {
			return err
		}
		rows, err := q.q.ImportAdvance(ctx, dbsqlc.ImportAdvanceParams{WorkspaceID: q.ws, ID: id, Was: int32(n),
			Conversation: at.Number, Last: last})
		switch {
		case err != nil:
			return classify("count an imported conversation", err)
		case rows == 0:
			return errStored // the file may have been erased: then nothing of it may be stored
		case !last:
			return nil
		}
		return q.Outbox().Settle(ctx, outbox.StoreImport, strconv.FormatInt(id, 10))
	})
	if errors.Is(err, errStored) {
		return false, nil
	}
	return err == nil, err
}

// Place stores a conversation of a file, and returns where it is. It is false if the file was erased.
func (s Imports) Place(ctx context.Context, ws, id int64, c transcript.Conversation) (at conversation.ImportPlace,
	ok bool,
	err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		if _, err := q.q.ImportLock(ctx, dbsqlc.ImportLockParams{WorkspaceID: q.ws, ID: id}); err != nil {
			if isNoRows(err) {
				return nil
			}
			return classify("lock an import", err)
		}
		ok = true
		at, err = q.transaction().Transcripts().putImported(ctx, c)
		return err
	})
	return at, ok, err
}

// errStored means that another process has stored a conversation of an import.
var errStored = errors.New("the conversation is stored already")

// Reparse lets the conversations of a file be stored again, from a new reading.
func (s Imports) Reparse(
	ctx context.Context,
	ws, id int64,
	report transcript.ImportReport,
	after time.Duration,
) error {
	raw, err := encode("the report of an import", report)
	if err != nil {
		return err
	}
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.ImportReparse(ctx, dbsqlc.ImportReparseParams{WorkspaceID: q.ws, ID: id, Report: raw})
		if err != nil {
			return classify("read an import again", err)
		}
		if rows == 0 {
			return noImport(id)
		}
		return q.Outbox().Enqueue(ctx, outbox.StoreImport, strconv.FormatInt(id, 10), after)
	})
}

// Page returns the latest imports before an ID, 0 for all.
func (s Imports) Page(ctx context.Context, ws, id, before int64, max int) (out []conversation.Import, err error) {
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.ImportsPage(ctx, dbsqlc.ImportsPageParams{WorkspaceID: q.ws, ID: id, Before: before,
			MaxRows: int32(max)})
		for _, r := range rows {
			one := conversation.Import{ID: r.ID, Name: r.Name, SHA256: hex.EncodeToString(r.Sha256), Bytes: r.Bytes,
				Distill: r.Distill, Stored: int(r.Stored), Conversations: r.Conversations, CreatedAt: r.CreatedAt,
				StoredAt: r.StoredAt}
			if err := json.Unmarshal(r.Report, &one.Report); err != nil {
				return fmt.Errorf("decode the report of import %d: %w", r.ID, err)
			}
			out = append(out, one)
		}
		return classify("list the imports", err)
	})
	return out, err
}
