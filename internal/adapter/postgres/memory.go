package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
	"cairn/internal/service/search"
)

// memoryStore is the store as the use-case remember sees it.
type memoryStore struct{ *Store }

// Memory is the store for the use-case remember.
func (s *Store) Memory() promptmemory.Store { return memoryStore{s} }

// WithMemory runs fn in a transaction that has entered ws.
func (s memoryStore) WithMemory(ctx context.Context, ws int64, fn func(context.Context, promptmemory.Tx) error) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return fn(ctx, promptMemoryTx(q)) })
}

// Do is Once for use-cases, which know result only as something that JSON fills.
func (q operationRepository) Do(ctx context.Context, op string, args, result any, effect func() error) error {
	raw, err := once(ctx, q.session, op, args, func() (json.RawMessage, error) {
		if err := effect(); err != nil {
			return nil, err
		}
		return encode("the result of "+op, result)
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", op, err)
	}
	return nil
}

// LockMemories makes writers of the workspace follow each other: budgets,
// duplicates and quotas are decided on rows that stand still.
func (q promptMemoryRepository) LockMemories(ctx context.Context) error {
	return classify("lock the memories", q.q.MemoryLock(ctx, q.ws))
}

// Memories lists memories of some types in the order of their making.
func (q promptMemoryRepository) Memories(ctx context.Context, types []memory.Type, everyStatus bool,
	max int) ([]memory.Entry, error) {
	rows, err := q.q.MemoriesList(ctx, dbsqlc.MemoriesListParams{WorkspaceID: q.ws, Types: typeNames(types),
		EveryStatus: everyStatus, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the memories", err)
	}
	out := make([]memory.Entry, len(rows))
	for i, r := range rows {
		out[i] = entryOf(r)
	}
	return out, nil
}

// Memory reads an entry by its external id.
func (q promptMemoryRepository) Memory(ctx context.Context, id string) (memory.Entry, error) {
	r, err := q.q.MemoryGet(ctx, dbsqlc.MemoryGetParams{WorkspaceID: q.ws, ExternalID: storable(id)})
	if isNoRows(err) {
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("there is no memory %q", id),
			"`cairn memories list` shows them")
	}
	return entryOf(r), classify("read the memory", err)
}

// MemoryHistory lists the revisions of an entry, the latest first.
func (q promptMemoryRepository) MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error) {
	rows, err := q.q.MemoryRevisions(ctx, dbsqlc.MemoryRevisionsParams{WorkspaceID: q.ws, ExternalID: id,
		MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the revisions", err)
	}
	out := make([]memory.Revision, len(rows))
	for i, r := range rows {
		if out[i], err = revisionOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AddedBy counts the entries of some types that a run has added, with those of
// it that wait for approval.
func (q promptMemoryRepository) AddedBy(ctx context.Context, run int64, types []memory.Type) (int, error) {
	n, err := q.q.MemoryAddedByRun(ctx, dbsqlc.MemoryAddedByRunParams{WorkspaceID: q.ws, RunID: &run,
		Types: typeNames(types)})
	return int(n), classify("count what the run has added", err)
}

// WriteMemories does the steps of a plan, keeps every version, and makes what is
// there in the end what search finds.
func (q promptMemoryRepository) WriteMemories(ctx context.Context, steps []memory.Step, w memorywrite.Writer) error {
	var changed []*memory.Entry
	seen := map[*memory.Entry]bool{}
	for _, s := range steps {
		if err := q.writeStep(ctx, s, w); err != nil {
			return err
		}
		if !seen[s.Entry] {
			seen[s.Entry] = true
			changed = append(changed, s.Entry)
		}
	}
	var docs []search.Doc
	var vectors [][]float32
	for _, e := range changed {
		docs, vectors = append(docs, memoryDoc(*e, e.Content)), append(vectors, w.Vectors[e.Content])
	}
	return q.documents().indexWithVectors(ctx, docs, vectors, w.Space)
}

// writeStep writes one version of an entry and brings e up to it.
func (q promptMemoryRepository) writeStep(ctx context.Context, s memory.Step, w memorywrite.Writer) error {
	e := s.Entry
	if s.Action == memory.Add {
		if err := q.addMemory(ctx, e, s.Content, w); err != nil {
			return err
		}
	} else {
		status := memory.Active
		if s.Action == memory.Remove {
			status = memory.Removed
		}
		tainted := !w.Person && (w.Tainted || e.Tainted)
		sum := sha256.Sum256([]byte(s.Content))
		n, err := q.q.MemoryChange(ctx, dbsqlc.MemoryChangeParams{Content: s.Content, ContentSha256: sum[:],
			Status: string(status), Tainted: tainted, OpID: w.Op,
			WorkspaceID: q.ws, ID: e.Key, Version: int32(e.Version)})
		if err == nil && n != 1 {
			return fault.New(fault.VersionConflict,
				fmt.Sprintf("memory %s has moved on from version %d", e.ID, e.Version), "")
		}
		if err != nil {
			return classify("change the memory", err)
		}
		e.Content, e.Version, e.Status, e.Tainted = s.Content, e.Version+1, status, tainted
	}
	return q.longTerm().keepRevision(ctx, e, s.Action, w)
}

// salts is how many ids are tried for one content: each removal and new adding of
// the same sentence takes one.
const salts = 10_000

func (q promptMemoryRepository) addMemory(ctx context.Context, e *memory.Entry, content string,
	w memorywrite.Writer) error {
	run, conversation, from, to := whence(w)
	sum := sha256.Sum256([]byte(content))
	p := dbsqlc.MemoryInsertParams{WorkspaceID: q.ws, Type: string(e.Type), Target: e.Target, Content: content,
		ContentSha256: sum[:], Origin: w.Origin, Tainted: w.Tainted,
		RunID: run, OpID: w.Op, ConversationID: conversation, FromSeq: from, ToSeq: to, EventTime: e.EventTime}
	for salt := range salts {
		p.ExternalID = memory.NewID(q.ws, e.Type, e.Target, content, salt)
		r, err := q.q.MemoryInsert(ctx, p)
		if isNoRows(err) {
			continue
		}
		if err != nil {
			return classify("add the memory", err)
		}
		*e = entryOf(r)
		return nil
	}
	return fault.New(fault.QuotaExceeded, fmt.Sprintf("this sentence was added and removed %d times", salts),
		"say it in other words")
}

// whence is a writer's run and evidence as columns.
func whence(w memorywrite.Writer) (run, conversation *int64, from, to *int32) {
	if w.Run != 0 {
		run = &w.Run
	}
	if e := w.Evidence; e != nil {
		first, last := int32(e.FromSeq), int32(e.ToSeq)
		conversation, from, to = &e.Conversation, &first, &last
	}
	return run, conversation, from, to
}

func entryOf(r dbsqlc.Memory) memory.Entry {
	return memory.Entry{Key: r.ID, ID: r.ExternalID, Type: memory.Type(r.Type), Target: r.Target, Content: r.Content,
		Version: int(r.Version), Status: memory.Status(r.Status),
		Origin: r.Origin, Tainted: r.Tainted, Run: number(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), EventTime: r.EventTime,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, WhenToUse: r.WhenToUse, Author: r.Author,
		Importance: float64(r.Importance), Targets: r.Targets,
		SupersededBy: text(r.SupersededBy), Retrieved: int(r.RetrieveCount)}
}

func evidenceOf(conversation *int64, from, to *int32) *memory.Evidence {
	if conversation == nil || from == nil || to == nil {
		return nil
	}
	return &memory.Evidence{Conversation: *conversation, FromSeq: int(*from), ToSeq: int(*to)}
}

// text is empty for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orNull is null for empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number is 0 for null.
func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func typeNames(types []memory.Type) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = string(t)
	}
	return out
}

// memoryDoc is what search knows of e by these words; only what is active is found.
func memoryDoc(e memory.Entry, words string) search.Doc {
	if e.Status != memory.Active {
		return search.Doc{Kind: search.KindMemory, Owner: e.Key, Gone: true}
	}
	d := search.NewDoc(search.KindMemory, e.Key, string(e.Status), words).About(e.Target)
	d.Type, d.EventTime = string(e.Type), e.EventTime
	if e.Evidence != nil {
		d.Conversation = &e.Evidence.Conversation
	}
	return d
}
