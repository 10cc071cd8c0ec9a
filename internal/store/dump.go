package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// Dumps has the secret of dumps.
type Dumps struct{ *Store }

// Dumps returns the store of the service dump.
func (s *Store) Dumps() Dumps { return Dumps{s} }

// DumpSecret returns the secret of the deployment from which the key of dumps is derived.
func (s Dumps) DumpSecret(ctx context.Context) (out []byte, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		out, err = q.DumpSecret(ctx)
		return classify("read the secret of the deployment", err)
	})
	return out, err
}

// Counts returns the number of rows of the workspace by kind.
func (q DumpRepository) Counts(ctx context.Context) (dumpfile.Counts, error) {
	r, err := q.q.DumpCounts(ctx, q.ws)
	return dumpfile.Counts{Workspace: r.Workspace, Targets: r.Targets, Histories: r.Histories, Memories: r.Memories,
		Active: r.Active, Revisions: r.Revisions, Identities: r.Identities, Souls: r.Souls,
		Conversations: r.Conversations, Messages: r.Messages,
		Model: r.Model, Dims: int(r.Dims)}, classify("count the rows", err)
}

// DumpTargets reads a page of targets.
func (q DumpRepository) DumpTargets(ctx context.Context, after int64, max int) ([]dumpfile.Target, error) {
	rows, err := q.q.DumpTargets(ctx, dbsqlc.DumpTargetsParams{WorkspaceID: q.ws, After: after, MaxRows: int32(max)})
	out := make([]dumpfile.Target, len(rows))
	for i, r := range rows {
		out[i] = dumpfile.Target{Row: r.ID, Type: r.Type, Key: r.TargetKey, Display: r.Target,
			Description: r.Description,
			CreatedAt:   r.CreatedAt.UTC(), LastUsedAt: r.LastUsedAt.UTC(),
			SummaryAt: r.LastSummaryAt}
	}
	return out, classify("dump the targets", err)
}

// DumpConversations reads a page of the conversations that memories refer to.
func (q DumpRepository) DumpConversations(ctx context.Context, after int64, max int) ([]dumpfile.Conversation, error) {
	rows, err := q.q.DumpConversations(ctx,
		dbsqlc.DumpConversationsParams{WorkspaceID: q.ws, After: after, MaxRows: int32(max)})
	out := make([]dumpfile.Conversation, len(rows))
	for i, r := range rows {
		out[i] = dumpfile.Conversation{Row: r.ID, ID: r.ExternalID, Channel: r.Channel, Title: r.Title,
			Reward:   r.Reward,
			Messages: int(r.NextSeq)}
	}
	return out, classify("dump the conversations", err)
}

// DumpMessages reads messages from..to of a conversation, both inclusive.
func (q DumpRepository) DumpMessages(ctx context.Context, conversation int64, from, to int) ([]dumpfile.Message,
	error) {
	c, err := q.transaction().Transcripts().Conversation(ctx, conversation, from, to)
	out := make([]dumpfile.Message, len(c.Messages))
	for i, m := range c.Messages {
		out[i] = dumpfile.Message{Seq: m.Seq, ID: m.ID, Role: m.Role, Content: m.Content, Name: m.Name,
			ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Details: m.Details}
		if !m.Time.IsZero() {
			out[i].Time = &m.Time
		}
	}
	return out, err
}

// DumpHistories reads a page of sessions.
func (q DumpRepository) DumpHistories(ctx context.Context, after string, max int) ([]dumpfile.History, error) {
	rows, err := q.q.DumpHistories(ctx, dbsqlc.DumpHistoriesParams{WorkspaceID: q.ws, After: after,
		MaxRows: int32(max)})
	out := make([]dumpfile.History, len(rows))
	for i, r := range rows {
		h := r.MemoryHistory
		out[i] = dumpfile.History{ID: h.ID, Range: dumpfile.Evidence{Conversation: r.Conversation,
			FromSeq: int(h.FromSeq),
			ToSeq:   int(h.ToSeq)}, Author: h.Author, CreatedAt: h.CreatedAt.UTC()}
	}
	return out, classify("dump the sessions", err)
}

// DumpMemories reads a page of entries of all types with their revisions. If vectors is set, it
// includes the vectors of that space.
func (q DumpRepository) DumpMemories(ctx context.Context, after int64, max int, vectors *int16) ([]dumpfile.Memory,
	error) {
	rows, err := q.q.DumpMemories(ctx, dbsqlc.DumpMemoriesParams{WorkspaceID: q.ws, After: after, MaxRows: int32(max)})
	if err != nil || len(rows) == 0 {
		return nil, classify("dump the memories", err)
	}
	out, keys, place := make([]dumpfile.Memory, len(rows)), make([]int64, len(rows)), map[int64]int{}
	for i, r := range rows {
		m := r.Memory
		keys[i], place[m.ID] = m.ID, i
		out[i] = dumpfile.Memory{Key: m.ID, ID: m.ExternalID, Type: memory.Type(m.Type), Target: m.Target,
			Content: m.Content, SHA256: hex.EncodeToString(m.ContentSha256), WhenToUse: m.WhenToUse,
			Version: int(m.Version),
			Status:  memory.Status(m.Status), SupersededBy: text(m.SupersededBy), Origin: m.Origin, Author: m.Author,
			Tainted: m.Tainted, Importance: float64(m.Importance), Targets: m.Targets, First: text(m.HistoryID),
			Evidence: dumpedEvidence(r.Conversation, m.FromSeq, m.ToSeq), EventTime: m.EventTime,
			CreatedAt: m.CreatedAt.UTC(), UpdatedAt: m.UpdatedAt.UTC(), Retrieved: int(m.RetrieveCount),
			RetrievedAt: m.LastRetrievedAt, Moved: m.Moved, Approved: m.Approved, ConfirmedAt: m.ConfirmedAt}
		if err := json.Unmarshal(m.Metadata, &out[i].Metadata); err != nil {
			return nil, fmt.Errorf("decode the metadata of memory %s: %w", m.ExternalID, err)
		}
	}
	refs, err := q.q.LongTermRefs(ctx, dbsqlc.LongTermRefsParams{WorkspaceID: q.ws, Ids: keys})
	if err != nil {
		return nil, classify("dump the memories' sessions", err)
	}
	for _, r := range refs {
		m := &out[place[r.MemoryID]]
		m.Histories = append(m.Histories, r.HistoryID)
	}
	if err := q.dumpRevisions(ctx, out, keys, place); err != nil || vectors == nil {
		return out, err
	}
	found, err := q.q.DumpVectors(ctx, dbsqlc.DumpVectorsParams{Space: *vectors, WorkspaceID: q.ws, Ids: keys})
	for _, v := range found {
		out[place[v.OwnerID]].Vector = v.V.Slice()
	}
	return out, classify("dump the vectors", err)
}

func (q DumpRepository) dumpRevisions(ctx context.Context, out []dumpfile.Memory, keys []int64,
	place map[int64]int) error {
	rows, err := q.q.DumpRevisions(ctx, dbsqlc.DumpRevisionsParams{WorkspaceID: q.ws, Ids: keys})
	if err != nil {
		return classify("dump the memories' revisions", err)
	}
	for _, r := range rows {
		v := r.MemoryRevision
		one := dumpfile.Revision{Version: int(v.Version), Action: memory.Action(v.Action),
			Status:  memory.Status(v.Status),
			Content: v.Content, WhenToUse: v.WhenToUse, Targets: v.Targets, Origin: v.Origin, Author: v.Author,
			Tainted: v.Tainted, Evidence: dumpedEvidence(r.Conversation, v.FromSeq, v.ToSeq),
			CreatedAt: v.CreatedAt.UTC(), Moved: v.Moved}
		if v.ValidUntil != nil {
			until := v.ValidUntil.UTC()
			one.ValidUntil = &until
		}
		if err := json.Unmarshal(v.Metadata, &one.Metadata); err != nil {
			return fmt.Errorf("decode the metadata of a revision: %w", err)
		}
		m := &out[place[v.MemoryID]]
		m.Revisions = append(m.Revisions, one)
	}
	return nil
}

func dumpedEvidence(conversation string, from, to *int32) *dumpfile.Evidence {
	if conversation == "" || from == nil || to == nil {
		return nil
	}
	return &dumpfile.Evidence{Conversation: conversation, FromSeq: int(*from), ToSeq: int(*to)}
}

// DumpIdentities reads a page of versions of the identity.
func (q DumpRepository) DumpIdentities(ctx context.Context, after, max int) ([]dumpfile.Document, error) {
	rows, err := q.q.DumpIdentities(ctx, dbsqlc.DumpIdentitiesParams{WorkspaceID: q.ws, After: int32(after),
		MaxRows: int32(max)})
	out := make([]dumpfile.Document, len(rows))
	for i, r := range rows {
		out[i] = dumpfile.Document{Version: int(r.Version), Content: r.Content, Action: r.Action, Origin: r.Origin,
			Author: r.Author, History: text(r.HistoryID), CreatedAt: r.CreatedAt.UTC()}
	}
	return out, classify("dump the identity", err)
}

// DumpSouls reads a page of versions of the soul.
func (q DumpRepository) DumpSouls(ctx context.Context, after, max int) ([]dumpfile.Document, error) {
	rows, err := q.q.DumpSouls(ctx, dbsqlc.DumpSoulsParams{WorkspaceID: q.ws, After: int32(after), MaxRows: int32(max)})
	out := make([]dumpfile.Document, len(rows))
	for i, r := range rows {
		out[i] = dumpfile.Document{Version: int(r.Version), Content: r.Content, Action: r.Action, Origin: r.Origin,
			CreatedAt: r.CreatedAt.UTC()}
	}
	return out, classify("dump the soul", err)
}

// LoadMessages appends messages to a conversation.
func (q DumpRepository) LoadMessages(ctx context.Context, conversation int64, from int, ms []transcript.Message) error {
	if err := q.transaction().Transcripts().putMessagesFrom(ctx, conversation, from, ms); err != nil {
		return err
	}
	n, err := q.q.ConversationAdvance(ctx,
		dbsqlc.ConversationAdvanceParams{NextSeq: int32(from + len(ms)), Dated: dated(ms), WorkspaceID: q.ws,
			ID: conversation, Was: int32(from)})
	return oneRow("advance the conversation", n, err)
}
