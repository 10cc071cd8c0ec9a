package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// memoryRows are the parameters of a statement that inserts memories.
type memoryRows struct{ dbsqlc.MemoriesPutParams }

// add appends an entry. Its history is the session from which it was first extracted.
func (m *memoryRows) add(e memory.Entry, history string, retrievedAt *time.Time) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	targets, err := json.Marshal(texts(e.Targets))
	if err != nil {
		return err
	}
	_, field := e.Embedded()
	conversation, from, to := evidenceColumns(e.Evidence)
	m.ExternalIds, m.Types = append(m.ExternalIds, e.ID), append(m.Types, string(e.Type))
	m.Targets, m.Contents = append(m.Targets, storable(e.Target)), append(m.Contents, storable(e.Content))
	m.Versions, m.States = append(m.Versions, int32(e.Version)), append(m.States, string(e.Status))
	m.Origins, m.Tainted = append(m.Origins, e.Origin), append(m.Tainted, e.Tainted)
	m.RunIds, m.Conversations = append(m.RunIds, e.Run), append(m.Conversations, conversation)
	m.FromSeqs, m.ToSeqs = append(m.FromSeqs, from), append(m.ToSeqs, to)
	m.EventTimes = append(m.EventTimes, instant(e.EventTime))
	m.RetrievedAt = append(m.RetrievedAt, instant(retrievedAt))
	m.Created, m.Updated = append(m.Created, instant(&e.CreatedAt)), append(m.Updated, instant(&e.UpdatedAt))
	m.Uses, m.EmbeddedFields = append(m.Uses, storable(e.WhenToUse)), append(m.EmbeddedFields, field)
	m.Metadata, m.Histories = append(m.Metadata, string(metadata)), append(m.Histories, history)
	m.Authors, m.Importances = append(m.Authors, storable(e.Author)), append(m.Importances, float32(e.Importance))
	m.TargetLists, m.Superseded = append(m.TargetLists, string(targets)), append(m.Superseded, e.SupersededBy)
	m.Retrieved, m.Moved = append(m.Retrieved, int32(e.Retrieved)), append(m.Moved, e.Moved)
	m.Approved, m.ConfirmedAt = append(m.Approved, e.Approved), append(m.ConfirmedAt, instant(e.ConfirmedAt))
	return nil
}

// revisionRows are the parameters of a statement that inserts revisions.
type revisionRows struct{ dbsqlc.RevisionsPutParams }

// add appends a revision of the memory with a key.
func (m *revisionRows) add(key int64, r memory.Revision) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(r.Metadata))
	if err != nil {
		return err
	}
	targets, err := json.Marshal(texts(r.Targets))
	if err != nil {
		return err
	}
	conversation, from, to := evidenceColumns(r.Evidence)
	m.MemoryIds, m.Versions = append(m.MemoryIds, key), append(m.Versions, int32(r.Version))
	m.Actions, m.States = append(m.Actions, string(r.Action)), append(m.States, string(r.Status))
	m.Contents, m.Uses = append(m.Contents, storable(r.Content)), append(m.Uses, storable(r.WhenToUse))
	m.Metadata, m.TargetLists = append(m.Metadata, string(metadata)), append(m.TargetLists, string(targets))
	m.Authors, m.Origins = append(m.Authors, storable(r.Author)), append(m.Origins, r.Origin)
	m.Tainted, m.RunIds = append(m.Tainted, r.Tainted), append(m.RunIds, r.Run)
	m.Conversations, m.Created = append(m.Conversations, conversation), append(m.Created, instant(&r.CreatedAt))
	m.FromSeqs, m.ToSeqs = append(m.FromSeqs, from), append(m.ToSeqs, to)
	m.Ended, m.Moved = append(m.Ended, instant(r.ValidUntil)), append(m.Moved, r.Moved)
	return nil
}

// evidenceColumns returns zeros without evidence.
func evidenceColumns(e *memory.Evidence) (conversation int64, from, to int32) {
	if e == nil {
		return 0, 0, 0
	}
	return e.Conversation, int32(e.FromSeq), int32(e.ToSeq)
}

// instant renders a time as the text of an array. It returns "" for no time.
func instant(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// RevisionAt reads one revision of an entry.
func (q LongTermRepository) RevisionAt(ctx context.Context, key int64, version int) (memory.Revision, error) {
	r, err := q.q.LongTermRevision(ctx, dbsqlc.LongTermRevisionParams{WorkspaceID: q.ws, MemoryID: key,
		Version: narrow(version)})
	if isNoRows(err) {
		return memory.Revision{}, fault.New(fault.NotFound, fmt.Sprintf("memory version %d not found", version),
			"use a version of its history")
	}
	if err != nil {
		return memory.Revision{}, classify("read the revision", err)
	}
	return revisionOf(r)
}
