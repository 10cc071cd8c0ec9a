package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// Do is Once for services that decode the result from JSON.
func (q OperationRepository) Do(ctx context.Context, op string, args, result any, effect func() error) error {
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

// LockMemories serializes writers of memories in the workspace. Budgets, duplicates and quotas are
// thus checked on rows that do not change.
func (q PromptMemoryRepository) LockMemories(ctx context.Context) error {
	return classify("lock the memories", q.q.MemoryLock(ctx, q.ws))
}

// Memories lists memories of some types in order of creation.
func (q PromptMemoryRepository) Memories(ctx context.Context, types []memory.Type, everyStatus bool,
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

// Memory reads an entry by its external ID.
func (q PromptMemoryRepository) Memory(ctx context.Context, id string) (memory.Entry, error) {
	r, err := q.q.MemoryGet(ctx, dbsqlc.MemoryGetParams{WorkspaceID: q.ws, ExternalID: storable(id)})
	if isNoRows(err) {
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %q not found", id),
			"list the memories with `cairn memories list`")
	}
	return entryOf(r), classify("read the memory", err)
}

// InPrompt lists the entries of prompt memories that prompts contain, in order of creation.
func (q PromptMemoryRepository) InPrompt(ctx context.Context, types []memory.Type, max int) ([]memory.Entry, error) {
	rows, err := q.q.MemoriesInPrompt(ctx, dbsqlc.MemoriesInPromptParams{WorkspaceID: q.ws, Types: typeNames(types),
		MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the prompt memories", err)
	}
	out := make([]memory.Entry, len(rows))
	for i, r := range rows {
		out[i] = entryOf(r)
	}
	return out, nil
}

// Confirm records that entries were said again.
func (q PromptMemoryRepository) Confirm(ctx context.Context, entries []*memory.Entry) error {
	keys := make([]int64, 0, len(entries))
	for _, e := range entries {
		if e.Key != 0 {
			keys = append(keys, e.Key)
		}
	}
	return classify("confirm the memories", q.q.MemoriesConfirm(ctx,
		dbsqlc.MemoriesConfirmParams{WorkspaceID: q.ws, Ids: keys}))
}

// MemoryHistory lists the revisions of an entry, the latest first.
func (q PromptMemoryRepository) MemoryHistory(ctx context.Context, id string, max int) ([]memory.Revision, error) {
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

// AddedBy returns the number of entries of some types that a run has added, including its pending
// ones.
func (q PromptMemoryRepository) AddedBy(ctx context.Context, run string, types []memory.Type) (int, error) {
	n, err := q.q.MemoryAddedByRun(ctx, dbsqlc.MemoryAddedByRunParams{WorkspaceID: q.ws, RunID: &run,
		Types: typeNames(types)})
	return int(n), classify("count the run's additions", err)
}

// WriteMemories executes the steps and the moves of a plan, stores every version, and indexes the final state for
// search.
func (q PromptMemoryRepository) WriteMemories(ctx context.Context, p memory.Plan, w memory.Writer) error {
	var changed []*memory.Entry
	seen := map[*memory.Entry]bool{}
	for _, s := range p.Steps {
		if s.Action == memory.Return {
			if err := q.move(ctx, []*memory.Entry{s.Entry}, s.Action, w); err != nil {
				return err
			}
			continue
		}
		if err := q.writeStep(ctx, s, w); err != nil {
			return err
		}
		if !seen[s.Entry] {
			seen[s.Entry] = true
			changed = append(changed, s.Entry)
		}
	}
	var docs []index.Doc
	var vectors [][]float32
	for _, e := range changed {
		docs, vectors = append(docs, memoryDoc(*e, e.Content)), append(vectors, w.Vectors[e.Content])
	}
	if err := q.move(ctx, p.Moves, memory.Move, w); err != nil {
		return err
	}
	return q.transaction().Documents().indexWithVectors(ctx, docs, vectors, w.Space)
}

// move moves entries to long-term memory, or back. Their documents for search stay as they are.
func (q PromptMemoryRepository) move(ctx context.Context, entries []*memory.Entry, action memory.Action,
	w memory.Writer) error {
	if len(entries) == 0 {
		return nil
	}
	p := dbsqlc.MemoriesMoveParams{WorkspaceID: q.ws, Action: string(action), OpID: w.Op, MovedBy: orNull(w.Run),
		Moved: action == memory.Move}
	for _, e := range entries {
		p.Ids = append(p.Ids, e.Key)
	}
	n, err := q.q.MemoriesMove(ctx, p)
	if err == nil && n != int64(len(entries)) {
		return fault.New(fault.VersionConflict, "a memory that moves has a newer version", "")
	}
	for _, e := range entries {
		e.Moved, e.Version = p.Moved, e.Version+1
	}
	return classify("move the memories", err)
}

// writeStep stores one version of an entry and updates e.
func (q PromptMemoryRepository) writeStep(ctx context.Context, s memory.Step, w memory.Writer) error {
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
		n, err := q.q.MemoryChange(ctx, dbsqlc.MemoryChangeParams{Origin: w.Origin, Content: s.Content,
			ContentSha256: sum[:],
			Status:        string(status), Tainted: tainted, OpID: w.Op, Approved: w.Person, Moved: e.Moved,
			WorkspaceID: q.ws, ID: e.Key, Version: int32(e.Version), Was: string(e.Status)})
		if err == nil && n != 1 {
			return fault.New(fault.VersionConflict,
				fmt.Sprintf("memory %s has a newer version than %d", e.ID, e.Version), "")
		}
		if err != nil {
			return classify("change the memory", err)
		}
		e.Content, e.Version, e.Status, e.Tainted, e.Approved = s.Content, e.Version+1, status, tainted, w.Person
	}
	return q.transaction().LongTerm().keepRevision(ctx, e, s.Action, w)
}

// salts is the number of IDs for one content: each time the same sentence is removed and added
// again takes one.
const salts = 10_000

func (q PromptMemoryRepository) addMemory(ctx context.Context, e *memory.Entry, content string,
	w memory.Writer) error {
	run, conversation, from, to := provenance(w)
	sum := sha256.Sum256([]byte(content))
	p := dbsqlc.MemoryInsertParams{WorkspaceID: q.ws, Type: string(e.Type), Target: e.Target, Content: content,
		ContentSha256: sum[:], Origin: w.Origin, Tainted: w.Tainted, Approved: w.Person,
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
		"use different words")
}

// provenance returns a writer's run and evidence as columns.
func provenance(w memory.Writer) (run *string, conversation *int64, from, to *int32) {
	if w.Run != "" {
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
		Origin: r.Origin, Tainted: r.Tainted, Run: text(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), EventTime: r.EventTime,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, WhenToUse: r.WhenToUse, Author: r.Author,
		Importance: float64(r.Importance), Targets: r.Targets,
		SupersededBy: text(r.SupersededBy), Retrieved: int(r.RetrieveCount),
		Moved: r.Moved, Approved: r.Approved, ConfirmedAt: r.ConfirmedAt}
}

func evidenceOf(conversation *int64, from, to *int32) *memory.Evidence {
	if conversation == nil || from == nil || to == nil {
		return nil
	}
	return &memory.Evidence{Conversation: *conversation, FromSeq: int(*from), ToSeq: int(*to)}
}

// text returns "" for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orNull returns null for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number returns 0 for null.
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

// memoryDoc returns the search document of e with these words. Only active entries are found. An entry
// without an event time is of the time at which it was created.
func memoryDoc(e memory.Entry, words string) index.Doc {
	if e.Status != memory.Active {
		return index.Doc{Kind: index.KindMemory, Owner: e.Key, Gone: true}
	}
	d := index.NewDoc(index.KindMemory, e.Key, string(e.Status), words).About(e.Target)
	d.Type, d.EventTime = string(e.Type), e.EventTime
	if e.EventTime == nil && !e.CreatedAt.IsZero() {
		d.EventTime = &e.CreatedAt
	}
	if e.Evidence != nil {
		d.Conversation = &e.Evidence.Conversation
	}
	return d
}
