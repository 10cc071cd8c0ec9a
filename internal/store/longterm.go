package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// LongTerm reads entries by their external IDs, with their sessions. Missing entries are omitted.
func (q LongTermRepository) LongTerm(ctx context.Context, ids []string) ([]memory.Entry, error) {
	rows, err := q.q.LongTermByID(ctx, dbsqlc.LongTermByIDParams{WorkspaceID: q.ws, ExternalIds: texts(ids)})
	if err != nil {
		return nil, classify("read the memories", err)
	}
	return q.complete(ctx, rows)
}

// Saying finds the active entry of a scope with exactly this content.
func (q LongTermRepository) Saying(ctx context.Context, s memory.Scope, content string) (memory.Entry, bool, error) {
	return first(q.Sayings(ctx, []memory.Statement{{Scope: s, Content: content}}))
}

// Sayings finds the active entries of scopes with exactly these contents, in no order.
func (q LongTermRepository) Sayings(ctx context.Context, in []memory.Statement) ([]memory.Entry, error) {
	p := dbsqlc.LongTermSayingParams{WorkspaceID: q.ws}
	for _, s := range in {
		sum := sha256.Sum256([]byte(s.Content))
		p.Types, p.Targets = append(p.Types, string(s.Scope.Type)), append(p.Targets, storable(s.Scope.Target))
		p.Sums = append(p.Sums, sum[:])
	}
	return q.found(ctx, "look for the contents", len(in), func() ([]dbsqlc.Memory, error) {
		return q.q.LongTermSaying(ctx, p)
	})
}

// GuidelineOf finds the active guideline of a tool.
func (q LongTermRepository) GuidelineOf(ctx context.Context, tool string) (memory.Entry, bool, error) {
	return first(q.Guidelines(ctx, []string{tool}))
}

// Guidelines finds the active guidelines of tools, in no order.
func (q LongTermRepository) Guidelines(ctx context.Context, tools []string) ([]memory.Entry, error) {
	return q.found(ctx, "look for the guidelines", len(tools), func() ([]dbsqlc.Memory, error) {
		return q.q.LongTermGuidelines(ctx, dbsqlc.LongTermGuidelinesParams{WorkspaceID: q.ws, Tools: texts(tools)})
	})
}

// found completes the rows of a search for n entries.
func (q LongTermRepository) found(ctx context.Context, doing string, n int,
	search func() ([]dbsqlc.Memory, error)) ([]memory.Entry, error) {
	if n == 0 {
		return nil, nil
	}
	rows, err := search()
	if err != nil || len(rows) == 0 {
		return nil, classify(doing, err)
	}
	return q.complete(ctx, rows)
}

func first(found []memory.Entry, err error) (memory.Entry, bool, error) {
	if err != nil || len(found) == 0 {
		return memory.Entry{}, false, err
	}
	return found[0], true, nil
}

// DigestOf finds the active summary of a session. Without a session, it finds the one with this
// content.
func (q LongTermRepository) DigestOf(ctx context.Context, history, content string) (memory.Entry, bool, error) {
	sum := sha256.Sum256([]byte(content))
	r, err := q.q.LongTermDigest(ctx, dbsqlc.LongTermDigestParams{WorkspaceID: q.ws, HistoryID: orNull(history),
		ContentSha256: sum[:]})
	return q.one(ctx, "look for the summary", r, err)
}

func (q LongTermRepository) one(ctx context.Context, doing string, r dbsqlc.Memory, err error) (memory.Entry, bool,
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
func (q LongTermRepository) complete(ctx context.Context, rows []dbsqlc.Memory) ([]memory.Entry, error) {
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
	var changed []int64
	for i, r := range rows {
		if len(out[i].Histories) == 0 && r.HistoryID != nil {
			out[i].Histories = []string{*r.HistoryID}
		}
		if r.Version > 1 {
			changed = append(changed, r.ID)
		}
	}
	if len(changed) == 0 {
		return out, nil
	}
	earlier, err := q.q.LongTermEarlier(ctx, dbsqlc.LongTermEarlierParams{WorkspaceID: q.ws, Ids: changed})
	for _, r := range earlier {
		if e := &out[place[r.MemoryID]]; r.Content != e.Content {
			e.Earlier = append(e.Earlier, memory.Earlier{Content: r.Content, ValidUntil: r.ValidUntil})
		}
	}
	return out, classify("read what the memories said before", err)
}

// OfScope reads the active entries of a scope in the order of creation.
func (q LongTermRepository) OfScope(ctx context.Context, s memory.Scope, most int) ([]memory.Entry, error) {
	rows, err := q.q.LongTermOfScope(ctx, dbsqlc.LongTermOfScopeParams{WorkspaceID: q.ws, Type: string(s.Type),
		Target: storable(s.Target), MaxRows: int32(most)})
	if err != nil || len(rows) == 0 {
		return nil, classify("read the memories of the subject", err)
	}
	return q.complete(ctx, rows)
}

// AddLongTerm adds entries and their first revisions, and sets their IDs. An entry without a free ID
// keeps the key 0.
func (q LongTermRepository) AddLongTerm(ctx context.Context, entries []*memory.Entry, w memory.Writer) error {
	for _, e := range entries {
		e.Version, e.Status = 1, cmp.Or(e.Status, memory.Active)
		e.Origin, e.Run, e.Evidence = w.Origin, w.Run, cmp.Or(e.Evidence, w.Evidence)
		e.Content, e.WhenToUse = storable(e.Content), storable(e.WhenToUse)
	}
	left := entries
	for salt := 0; salt < salts && len(left) > 0; salt++ {
		var err error
		if left, err = q.insert(ctx, left, salt, w); err != nil {
			return err
		}
	}
	revisions := revisionRows{dbsqlc.RevisionsPutParams{WorkspaceID: q.ws, OpID: w.Op, DecisionID: w.Decision}}
	for _, e := range entries {
		if e.Key == 0 {
			continue
		}
		if err := revisions.add(e.Key, memory.Revision{Version: 1, Action: memory.Add, Status: e.Status,
			Content: e.Content, WhenToUse: e.WhenToUse, Metadata: e.Metadata, Targets: e.Targets, Author: e.Author,
			Origin: e.Origin, Tainted: e.Tainted, Run: e.Run, Evidence: e.Evidence}); err != nil {
			return err
		}
	}
	return classify("store the revisions", q.q.RevisionsPut(ctx, revisions.RevisionsPutParams))
}

// insert adds entries under the IDs of a salt. It returns those whose ID is taken.
func (q LongTermRepository) insert(ctx context.Context, entries []*memory.Entry, salt int,
	w memory.Writer) (left []*memory.Entry, err error) {
	rows := memoryRows{dbsqlc.MemoriesPutParams{WorkspaceID: q.ws, OpID: w.Op,
		Kept: w.Dated || w.Origin == string(agent.OriginUser)}}
	byID := map[string]*memory.Entry{}
	for _, e := range entries {
		e.ID = memory.NewID(q.ws, e.Type, e.Target, e.Content, salt)
		if byID[e.ID] != nil { // two tools with the same guideline
			left = append(left, e)
			continue
		}
		byID[e.ID] = e
		history := ""
		if len(e.Histories) > 0 {
			history = e.Histories[0]
		}
		if err := rows.add(*e, history, nil); err != nil {
			return nil, err
		}
	}
	made, err := q.q.MemoriesPut(ctx, rows.MemoriesPutParams)
	if err != nil {
		return nil, classify("add the memories", err)
	}
	for _, r := range made {
		e := byID[r.ExternalID]
		e.Key, e.EventTime, e.CreatedAt, e.UpdatedAt = r.ID, r.EventTime, r.CreatedAt, r.UpdatedAt
		delete(byID, r.ExternalID)
	}
	for _, e := range entries {
		if byID[e.ID] == e {
			left = append(left, e)
		}
	}
	return left, nil
}

// Revise stores e as the version after the one that was read.
func (q LongTermRepository) Revise(ctx context.Context, e *memory.Entry, action memory.Action,
	w memory.Writer) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	e.Content = storable(e.Content)
	sum := sha256.Sum256([]byte(e.Content))
	_, field := e.Embedded()
	n, err := q.q.LongTermRevise(ctx, dbsqlc.LongTermReviseParams{Content: e.Content, ContentSha256: sum[:],
		WhenToUse: e.WhenToUse, EmbeddedField: field, Metadata: metadata, Targets: texts(e.Targets),
		Status: string(e.Status), Moved: e.Moved, SupersededBy: orNull(e.SupersededBy), Tainted: e.Tainted,
		Author: storable(e.Author),
		OpID:   w.Op, EventTime: e.EventTime, WorkspaceID: q.ws, ID: e.Key, Version: int32(e.Version)})
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
func (q LongTermRepository) keepRevision(ctx context.Context, e *memory.Entry, action memory.Action,
	w memory.Writer) error {
	metadata, err := encode("the metadata", memory.Metadata{}.With(e.Metadata))
	if err != nil {
		return err
	}
	run, conversation, from, to := provenance(w)
	err = q.q.MemoryRevisionInsert(ctx, dbsqlc.MemoryRevisionInsertParams{WorkspaceID: q.ws, MemoryID: e.Key,
		Version: int32(e.Version), Action: string(action), Status: string(e.Status),
		Content: e.Content, WhenToUse: e.WhenToUse, Metadata: metadata, Targets: texts(e.Targets),
		Author: storable(e.Author), Origin: w.Origin, Tainted: e.Tainted, RunID: run, OpID: w.Op,
		ConversationID: conversation, FromSeq: from, ToSeq: to, DecisionID: w.Decision, ValidUntil: w.ValidUntil,
		Moved: e.Moved})
	return classify("store the revision", err)
}

func revisionOf(r dbsqlc.MemoryRevision) (memory.Revision, error) {
	out := memory.Revision{Version: int(r.Version), Action: memory.Action(r.Action), Content: r.Content,
		Origin: r.Origin, Tainted: r.Tainted, Run: text(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), CreatedAt: r.CreatedAt,
		Status: memory.Status(r.Status), WhenToUse: r.WhenToUse, Targets: r.Targets, Author: r.Author,
		Moved: r.Moved, ValidUntil: r.ValidUntil}
	if err := json.Unmarshal(r.Metadata, &out.Metadata); err != nil {
		return out, fmt.Errorf("decode the metadata of revision %d: %w", r.Version, err)
	}
	return out, nil
}

// Refer adds sessions to the sources of entries, in this order.
func (q LongTermRepository) Refer(ctx context.Context, refs []memory.Reference, run string) error {
	if len(refs) == 0 {
		return nil
	}
	p := dbsqlc.ReferencesPutParams{WorkspaceID: q.ws, RunID: keyOrNull(run)}
	for _, r := range refs {
		p.MemoryIds, p.Histories = append(p.MemoryIds, r.Memory), append(p.Histories, r.History)
	}
	return classify("refer to the sessions", q.q.ReferencesPut(ctx, p))
}

// CopyReferences copies the sessions of one entry to another.
func (q LongTermRepository) CopyReferences(ctx context.Context, from, to int64, run string) error {
	return classify("copy the sessions", q.q.LongTermRefsCopy(ctx,
		dbsqlc.LongTermRefsCopyParams{ToMemory: to, RunID: keyOrNull(run), WorkspaceID: q.ws, FromMemory: from}))
}

// DropReferencesOf removes the session references that a run has added.
func (q LongTermRepository) DropReferencesOf(ctx context.Context, run string) error {
	_, err := q.q.LongTermRefsOfRunDrop(ctx, dbsqlc.LongTermRefsOfRunDropParams{WorkspaceID: q.ws, RunID: &run})
	return classify("drop the sessions", err)
}

// IndexLongTerm indexes entries for search: all of their words, and a vector of the embedded part.
func (q LongTermRepository) IndexLongTerm(ctx context.Context, entries []memory.Entry, w memory.Writer) error {
	return q.IndexSession(ctx, nil, entries, w)
}

// IndexSession is IndexLongTerm for entries and the parts of their sessions, which are new documents.
func (q LongTermRepository) IndexSession(ctx context.Context, parts []index.Doc, entries []memory.Entry,
	w memory.Writer) error {
	docs, vectors := slices.Clone(parts), make([][]float32, len(parts))
	for i := range docs {
		docs[i].New, vectors[i] = true, w.Vectors[docs[i].Text]
	}
	for _, e := range entries {
		embedded, _ := e.Embedded()
		d := longTermDoc(e)
		d.New = e.Version == 1 // every later state has a higher version
		docs, vectors = append(docs, d), append(vectors, w.Vectors[embedded])
	}
	return q.transaction().Documents().indexWithVectors(ctx, docs, vectors, w.Space)
}

// longTermDoc returns the search document of an entry. Words also find what it said before.
func longTermDoc(e memory.Entry) index.Doc {
	words := e.Content
	for _, past := range e.Earlier {
		words += "\n" + past.Content
	}
	if e.WhenToUse != "" {
		words = e.WhenToUse + "\n" + words
	}
	d := memoryDoc(e, words)
	d.Text, _ = e.Embedded()
	return d
}

// ExpectMany prepares the transaction for hundreds of new entries.
func (q LongTermRepository) ExpectMany(ctx context.Context) error { return q.planForMany(ctx) }

// Shown returns the entries that other operations have put into a run's prompts.
func (q LongTermRepository) Shown(ctx context.Context, run, op string) (map[int64]bool, error) {
	keys, err := q.q.MemoryViews(ctx, dbsqlc.MemoryViewsParams{WorkspaceID: q.ws, RunID: run, OpID: op})
	out := map[int64]bool{}
	for _, key := range keys {
		out[key] = true
	}
	return out, classify("read the memories of the run's prompts", err)
}

// Show records the entries in a run's prompts. Each entry is counted once per run.
func (q LongTermRepository) Show(ctx context.Context, run, op string, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := q.q.MemoryViewPut(ctx, dbsqlc.MemoryViewPutParams{WorkspaceID: q.ws, RunID: run, Ids: keys, OpID: op})
	return classify("store the memories of the run's prompts", err)
}

// WrittenBy lists the long-term entries that runs have written.
func (q LongTermRepository) WrittenBy(ctx context.Context, runs []string) ([]memory.WrittenEntry, error) {
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
	out := make([]memory.WrittenEntry, len(rows))
	for i, r := range rows {
		out[i] = memory.WrittenEntry{Entry: entries[i], First: int(r.FirstVersion), Last: int(r.LastVersion),
			MovedOn: r.MovedOn}
	}
	return out, nil
}

// Park moves entries aside so that they cannot conflict while they are revised.
func (q LongTermRepository) Park(ctx context.Context, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	return classify("set the memories aside",
		q.q.LongTermPark(ctx, dbsqlc.LongTermParkParams{WorkspaceID: q.ws, Ids: keys}))
}

func keyOrNull[T int64 | string](key T) *T {
	if key == *new(T) {
		return nil
	}
	return &key
}
