package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/search"
)

// longTermStore implements the store of the service longterm.
type longTermStore struct{ *Store }

// LongTerm returns the store of the service longterm.
func (s *Store) LongTerm() longterm.Store { return longTermStore{s} }

// WithLongTerm runs fn in a transaction that has entered ws.
func (s longTermStore) WithLongTerm(ctx context.Context, ws int64, fn func(context.Context, longterm.Tx) error) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return fn(ctx, longTermTx(q)) })
}

// LongTerm reads entries by their external IDs, with their sessions. Missing entries are omitted.
func (q longTermRepository) LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error) {
	rows, err := q.q.LongTermByID(ctx, dbsqlc.LongTermByIDParams{WorkspaceID: q.ws, ExternalIds: texts(ids)})
	if err != nil {
		return nil, classify("read the memories", err)
	}
	return q.complete(ctx, rows)
}

// Saying finds the active entry of a scope with exactly this content.
func (q longTermRepository) Saying(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error) {
	sum := sha256.Sum256([]byte(content))
	r, err := q.q.LongTermSaying(ctx, dbsqlc.LongTermSayingParams{WorkspaceID: q.ws, Type: string(s.Type),
		Target: s.Target, ContentSha256: sum[:]})
	return q.one(ctx, "look for the content", r, err)
}

// GuidelineOf finds the active guideline of a tool.
func (q longTermRepository) GuidelineOf(ctx context.Context, tool string) (memory.Entry, bool, error) {
	r, err := q.q.LongTermGuideline(ctx, dbsqlc.LongTermGuidelineParams{WorkspaceID: q.ws, WhenToUse: storable(tool)})
	return q.one(ctx, "look for the guideline", r, err)
}

// DigestOf finds the active summary of a session. Without a session, it finds the one with this
// content.
func (q longTermRepository) DigestOf(ctx context.Context, history, content string) (memory.Entry, bool, error) {
	sum := sha256.Sum256([]byte(content))
	r, err := q.q.LongTermDigest(ctx, dbsqlc.LongTermDigestParams{WorkspaceID: q.ws, HistoryID: orNull(history),
		ContentSha256: sum[:]})
	return q.one(ctx, "look for the summary", r, err)
}

func (q longTermRepository) one(ctx context.Context, doing string, r dbsqlc.Memory, err error) (memory.Entry, bool,
	error) {
	if isNoRows(err) {
		return memory.Entry{}, false, nil
	}
	if err != nil {
		return memory.Entry{}, false, classify(doing, err)
	}
	out, err := q.complete(ctx, []dbsqlc.Memory{r})
	if err != nil {
		return memory.Entry{}, false, err
	}
	return out[0], true, nil
}

// complete adds metadata and sessions to rows.
func (q longTermRepository) complete(ctx context.Context, rows []dbsqlc.Memory) ([]memory.Entry, error) {
	out, keys, place := make([]memory.Entry, len(rows)), make([]int64, len(rows)), map[int64]int{}
	for i, r := range rows {
		out[i], keys[i], place[r.ID] = entryOf(r), r.ID, i
		if err := json.Unmarshal(r.Metadata, &out[i].Metadata); err != nil {
			return nil, fmt.Errorf("decode the metadata of memory %s: %w", r.ExternalID, err)
		}
	}
	refs, err := q.q.LongTermRefs(ctx, dbsqlc.LongTermRefsParams{WorkspaceID: q.ws, Ids: keys})
	if err != nil {
		return nil, classify("read the memories' sessions", err)
	}
	for _, r := range refs {
		e := &out[place[r.MemoryID]]
		e.Histories = append(e.Histories, r.HistoryID)
	}
	for i, r := range rows {
		if len(out[i].Histories) == 0 && r.HistoryID != nil {
			out[i].Histories = []string{*r.HistoryID}
		}
	}
	return out, nil
}

// AddLongTerm adds an entry and its first revision, and sets e's IDs.
func (q longTermRepository) AddLongTerm(ctx context.Context, e *memory.Entry, w memorywrite.Writer) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	run, conversation, from, to := provenance(w)
	content := storable(e.Content)
	sum := sha256.Sum256([]byte(content))
	_, field := e.Embedded()
	history := ""
	if len(e.Histories) > 0 {
		history = e.Histories[0]
	}
	p := dbsqlc.LongTermInsertParams{WorkspaceID: q.ws, Type: string(e.Type), Target: e.Target, Content: content,
		ContentSha256: sum[:], WhenToUse: storable(e.WhenToUse), EmbeddedField: field,
		Metadata: metadata, HistoryID: orNull(history), Author: storable(e.Author), Importance: float32(e.Importance),
		Targets: texts(e.Targets), Origin: w.Origin, Tainted: e.Tainted,
		RunID: run, OpID: w.Op, ConversationID: conversation, FromSeq: from, ToSeq: to, EventTime: e.EventTime}
	for salt := range salts {
		p.ExternalID = memory.NewID(q.ws, e.Type, e.Target, content, salt)
		r, err := q.q.LongTermInsert(ctx, p)
		if isNoRows(err) {
			continue
		}
		if err != nil {
			return classify("add the memory", err)
		}
		added := entryOf(r)
		added.Metadata, added.Histories = e.Metadata, e.Histories
		*e = added
		return q.keepRevision(ctx, e, memory.Add, w)
	}
	return fault.New(fault.QuotaExceeded, fmt.Sprintf("this sentence was added and removed %d times", salts),
		"use different words")
}

// Revise stores e as the version after the one that was read.
func (q longTermRepository) Revise(ctx context.Context, e *memory.Entry, action memory.Action,
	w memorywrite.Writer) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	e.Content = storable(e.Content)
	sum := sha256.Sum256([]byte(e.Content))
	_, field := e.Embedded()
	n, err := q.q.LongTermRevise(ctx, dbsqlc.LongTermReviseParams{Content: e.Content, ContentSha256: sum[:],
		WhenToUse: e.WhenToUse, EmbeddedField: field, Metadata: metadata, Targets: texts(e.Targets),
		Status: string(e.Status), SupersededBy: orNull(e.SupersededBy), Tainted: e.Tainted, Author: storable(e.Author),
		OpID: w.Op, WorkspaceID: q.ws, ID: e.Key, Version: int32(e.Version)})
	if err == nil && n != 1 {
		return fault.New(fault.VersionConflict, fmt.Sprintf("memory %s has a newer version than %d", e.ID, e.Version),
			"")
	}
	if err != nil {
		return classify("change the memory", err)
	}
	e.Version++
	return q.keepRevision(ctx, e, action, w)
}

// keepRevision stores the current state of e as a revision.
func (q longTermRepository) keepRevision(ctx context.Context, e *memory.Entry, action memory.Action,
	w memorywrite.Writer) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	run, conversation, from, to := provenance(w)
	err = q.q.MemoryRevisionInsert(ctx, dbsqlc.MemoryRevisionInsertParams{WorkspaceID: q.ws, MemoryID: e.Key,
		Version: int32(e.Version), Action: string(action), Status: string(e.Status),
		Content: e.Content, WhenToUse: e.WhenToUse, Metadata: metadata, Targets: texts(e.Targets),
		Author: storable(e.Author), Origin: w.Origin, Tainted: e.Tainted, RunID: run, OpID: w.Op,
		ConversationID: conversation, FromSeq: from, ToSeq: to, DecisionID: w.Decision})
	return classify("store the revision", err)
}

func revisionOf(r dbsqlc.MemoryRevision) (memory.Revision, error) {
	out := memory.Revision{Version: int(r.Version), Action: memory.Action(r.Action), Content: r.Content,
		Origin: r.Origin, Tainted: r.Tainted, Run: number(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), CreatedAt: r.CreatedAt,
		Status: memory.Status(r.Status), WhenToUse: r.WhenToUse, Targets: r.Targets, Author: r.Author}
	if err := json.Unmarshal(r.Metadata, &out.Metadata); err != nil {
		return out, fmt.Errorf("decode the metadata of revision %d: %w", r.Version, err)
	}
	return out, nil
}

// Refer adds a session to the sources of an entry.
func (q longTermRepository) Refer(ctx context.Context, key int64, history string, run int64) error {
	_, err := q.q.LongTermRefPut(ctx, dbsqlc.LongTermRefPutParams{WorkspaceID: q.ws, MemoryID: key, HistoryID: history,
		RunID: keyOrNull(run)})
	return classify("refer to the session", err)
}

// CopyReferences copies the sessions of one entry to another.
func (q longTermRepository) CopyReferences(ctx context.Context, from, to, run int64) error {
	return classify("copy the sessions", q.q.LongTermRefsCopy(ctx,
		dbsqlc.LongTermRefsCopyParams{ToMemory: to, RunID: keyOrNull(run), WorkspaceID: q.ws, FromMemory: from}))
}

// DropReferencesOf removes the session references that a run has added.
func (q longTermRepository) DropReferencesOf(ctx context.Context, run int64) error {
	_, err := q.q.LongTermRefsOfRunDrop(ctx, dbsqlc.LongTermRefsOfRunDropParams{WorkspaceID: q.ws, RunID: &run})
	return classify("drop the sessions", err)
}

// IndexLongTerm indexes entries for search: all of their words, and a vector of the embedded part.
func (q longTermRepository) IndexLongTerm(ctx context.Context, entries []memory.Entry, w memorywrite.Writer) error {
	var docs []search.Doc
	var vectors [][]float32
	for _, e := range entries {
		embedded, _ := e.Embedded()
		d := longTermDoc(e)
		docs, vectors = append(docs, d), append(vectors, w.Vectors[embedded])
	}
	return q.documents().indexWithVectors(ctx, docs, vectors, w.Space)
}

// longTermDoc returns the search document of an entry.
func longTermDoc(e memory.Entry) search.Doc {
	words := e.Content
	if e.WhenToUse != "" {
		words = e.WhenToUse + "\n" + e.Content
	}
	d := memoryDoc(e, words)
	d.Text, _ = e.Embedded()
	return d
}

// Shown returns the entries that other operations have put into a run's prompts.
func (q longTermRepository) Shown(ctx context.Context, run int64, op string) (map[int64]bool, error) {
	keys, err := q.q.MemoryViews(ctx, dbsqlc.MemoryViewsParams{WorkspaceID: q.ws, RunID: run, OpID: op})
	out := map[int64]bool{}
	for _, key := range keys {
		out[key] = true
	}
	return out, classify("read the memories of the run's prompts", err)
}

// Show records the entries in a run's prompts. Each entry is counted once per run.
func (q longTermRepository) Show(ctx context.Context, run int64, op string, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := q.q.MemoryViewPut(ctx, dbsqlc.MemoryViewPutParams{WorkspaceID: q.ws, RunID: run, Ids: keys, OpID: op})
	return classify("store the memories of the run's prompts", err)
}

// WrittenBy lists the long-term entries that runs have written.
func (q longTermRepository) WrittenBy(ctx context.Context, runs []int64) ([]longterm.WrittenEntry, error) {
	rows, err := q.q.LongTermOfRuns(ctx, dbsqlc.LongTermOfRunsParams{WorkspaceID: q.ws, RunIds: runs})
	if err != nil {
		return nil, classify("list the entries written by the runs", err)
	}
	memories := make([]dbsqlc.Memory, len(rows))
	for i, r := range rows {
		memories[i] = r.Memory
	}
	entries, err := q.complete(ctx, memories)
	if err != nil {
		return nil, err
	}
	out := make([]longterm.WrittenEntry, len(rows))
	for i, r := range rows {
		out[i] = longterm.WrittenEntry{Entry: entries[i], First: int(r.FirstVersion), Last: int(r.LastVersion),
			MovedOn: r.MovedOn}
	}
	return out, nil
}

// RevisionAt reads one revision of an entry.
func (q longTermRepository) RevisionAt(ctx context.Context, key int64, version int) (memory.Revision, error) {
	r, err := q.q.LongTermRevision(ctx, dbsqlc.LongTermRevisionParams{WorkspaceID: q.ws, MemoryID: key,
		Version: int32(version)})
	if isNoRows(err) {
		return memory.Revision{}, fault.New(fault.NotFound, fmt.Sprintf("memory version %d not found", version),
			"use a version of its history")
	}
	if err != nil {
		return memory.Revision{}, classify("read the revision", err)
	}
	return revisionOf(r)
}

// Park moves entries aside so that they cannot conflict while they are revised.
func (q longTermRepository) Park(ctx context.Context, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	return classify("set the memories aside",
		q.q.LongTermPark(ctx, dbsqlc.LongTermParkParams{WorkspaceID: q.ws, Ids: keys}))
}

func keyOrNull(key int64) *int64 {
	if key == 0 {
		return nil
	}
	return &key
}
