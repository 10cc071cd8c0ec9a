package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/store/dbsqlc"
)

// Conversations reads the answers of conversations.
type Conversations struct{ *Store }

// Conversations returns the store of the conversation service.
func (s *Store) Conversations() Conversations { return Conversations{s} }

// PutRun records a run. If a run with its key exists, that one is returned unchanged.
func (q RunRepository) PutRun(ctx context.Context, n run.NewRun) (run.Run, error) {
	r, err := q.q.RunInsertKind(ctx, dbsqlc.RunInsertKindParams{WorkspaceID: q.ws, ID: run.NewID(),
		Kind: string(n.Kind), BusinessKey: storable(n.Key), ArgsSha: n.ArgsSHA[:],
		ConversationID: &n.Conversation, Spec: n.Spec, WorkflowID: n.WorkflowID})
	if err != nil {
		return run.Run{}, classify("record the run", err)
	}
	return run.Run{Ref: run.Ref{Workspace: q.ws, Run: r.ID}, Kind: n.Kind, Key: n.Key, Generation: 1,
		Attempt: int(r.Attempt), ArgsSHA: n.ArgsSHA, Conversation: n.Conversation,
		Spec: r.Spec, Status: run.Status(r.Status), Outcome: run.Outcome(r.Outcome), Result: r.Result,
		WorkflowID: n.WorkflowID}, nil
}

// RunOf finds the latest run with a key.
func (q RunRepository) RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error) {
	row, err := q.q.RunByKey(ctx, dbsqlc.RunByKeyParams{WorkspaceID: q.ws, Kind: string(kind),
		BusinessKey: storable(key)})
	if isNoRows(err) {
		return run.Run{}, false, nil
	}
	if err != nil {
		return run.Run{}, false, classify("find the run", err)
	}
	return runOf(row), true, nil
}

// EnqueueRun records the outbox task that drives a run to its end.
func (q RunRepository) EnqueueRun(ctx context.Context, id string) error {
	return q.transaction().Outbox().enqueueRun(ctx, id, driveAfter)
}

// OpenConversation creates or finds a conversation and locks it. The returned turn is nil if the
// conversation has none for the message.
func (q ConversationRepository) OpenConversation(ctx context.Context, name, channel, title,
	message string) (c domainconversation.Conversation, known *domainconversation.Turn, chosen settings.Settings,
	err error) {
	r, err := q.q.ConversationOpen(ctx, dbsqlc.ConversationOpenParams{
		WorkspaceID: q.ws, ExternalID: storable(name), Channel: channel, Title: storable(title)})
	if err != nil {
		return c, nil, chosen, classify("open the conversation", err)
	}
	t, err := q.q.TurnByNames(ctx, dbsqlc.TurnByNamesParams{
		WorkspaceID: q.ws, MessageID: storable(message), ExternalID: storable(name)})
	accepted := err == nil
	if err != nil && !isNoRows(err) {
		return c, nil, chosen, classify("find the message", err)
	}
	if chosen, err = q.transaction().Workspaces().Settings(ctx); err != nil {
		return c, nil, chosen, err
	}
	if r.Channel != channel {
		return c, nil, chosen, fault.New(fault.VersionConflict,
			fmt.Sprintf("conversation %q is on channel %s, not %s", name, r.Channel, channel),
			"use another ID for a conversation on another channel")
	}
	if accepted {
		found, err := turnOf(t)
		if err != nil {
			return c, nil, chosen, err
		}
		known = &found
	}
	c, err = conversationOf(r.ID, name, r.Channel, r.NextSeq, r.NextTurn, r.Counters, r.Counted, r.ReviewedTurn,
		r.Notice)
	return c, known, chosen, err
}

// LockConversation reads a conversation and locks it until the transaction ends.
func (q ConversationRepository) LockConversation(ctx context.Context, id int64) (domainconversation.Conversation,
	error) {
	r, err := q.q.ConversationLock(ctx, dbsqlc.ConversationLockParams{WorkspaceID: q.ws, ID: id})
	if isNoRows(err) {
		return domainconversation.Conversation{}, noConversationOf(id)
	}
	if err != nil {
		return domainconversation.Conversation{}, classify("lock the conversation", err)
	}
	return conversationLocked(id, r)
}

func noConversationOf(id int64) error {
	return fault.New(fault.NotFound, fmt.Sprintf("conversation %d not found", id),
		"list the conversations with `cairn conversations list`")
}

func conversationLocked(id int64, r dbsqlc.ConversationLockRow) (domainconversation.Conversation, error) {
	return conversationOf(id, r.ExternalID, r.Channel, r.NextSeq, r.NextTurn, r.Counters, r.Counted, r.ReviewedTurn,
		r.Notice)
}

func conversationOf(id int64, name, channel string, seq, turn int32, counters json.RawMessage, counted, reviewed int32,
	notice string) (domainconversation.Conversation, error) {
	c := domainconversation.Conversation{ID: id, Name: name, Channel: channel, NextSeq: int(seq), NextTurn: int(turn),
		Counts: int(counted), Reviewed: int(reviewed), Notice: notice}
	if err := json.Unmarshal(counters, &c.Counters); err != nil {
		return c, fmt.Errorf("decode the counters of conversation %d: %w", id, err)
	}
	return c, nil
}

// SaveSequence stores the next message and turn numbers of a conversation.
func (q ConversationRepository) SaveSequence(ctx context.Context, c domainconversation.Conversation) error {
	n, err := q.q.ConversationSaid(ctx, dbsqlc.ConversationSaidParams{NextSeq: int32(c.NextSeq),
		NextTurn: int32(c.NextTurn), WorkspaceID: q.ws, ID: c.ID})
	return oneRow("number the conversation", n, err)
}

// SaveCounters stores the counters of a conversation and its last message number.
func (q ConversationRepository) SaveCounters(ctx context.Context, c domainconversation.Conversation) error {
	raw, err := encode("the counters", c.Counters)
	if err != nil {
		return err
	}
	n, err := q.q.ConversationCount(ctx, dbsqlc.ConversationCountParams{NextSeq: int32(c.NextSeq), Counters: raw,
		Counted: int32(c.Counts), ReviewedTurn: int32(c.Reviewed), WorkspaceID: q.ws, ID: c.ID})
	return oneRow("store the counters of the conversation", n, err)
}

// SetNotice sets the line that ends the next reply.
func (q ConversationRepository) SetNotice(ctx context.Context, conversation int64, notice string) error {
	n, err := q.q.ConversationNotice(ctx, dbsqlc.ConversationNoticeParams{Notice: storable(notice), WorkspaceID: q.ws,
		ID: conversation})
	return oneRow("set the notice", n, err)
}

// CloseConversation stores the state of a conversation whose workflow ends.
func (q ConversationRepository) CloseConversation(ctx context.Context, conversation int64, c nudge.Counters,
	ended bool) error {
	raw, err := encode("the counters", c)
	if err != nil {
		return err
	}
	n, err := q.q.ConversationClose(ctx, dbsqlc.ConversationCloseParams{Counters: raw, Ended: ended, WorkspaceID: q.ws,
		ID: conversation})
	return oneRow("close the conversation", n, err)
}

// NudgesToday returns the number of reviews that started today, by the database's clock.
func (q ConversationRepository) NudgesToday(ctx context.Context) (int, error) {
	n, err := q.q.NudgesToday(ctx, q.ws)
	return int(n), classify("count the reviews", err)
}

// InputTokens returns the input tokens of a run's requests, as counted by the endpoint.
func (q RunRepository) InputTokens(ctx context.Context, id string) (int, error) {
	n, err := q.q.RunInputTokens(ctx, dbsqlc.RunInputTokensParams{WorkspaceID: q.ws, RunID: id})
	return int(n), classify("count the tokens of the run", err)
}

// LiveSession finds the live session of a channel.
func (q SessionRepository) LiveSession(ctx context.Context, channel, lang string) (domainconversation.Session, bool,
	error) {
	r, err := q.q.SessionLive(ctx, dbsqlc.SessionLiveParams{WorkspaceID: q.ws, Channel: channel, Lang: lang})
	if isNoRows(err) {
		return domainconversation.Session{}, false, nil
	}
	if err != nil {
		return domainconversation.Session{}, false, classify("find the session", err)
	}
	s, err := sessionOf(dbsqlc.SessionGetRow(r))
	return s, err == nil, err
}

// LockSessions serializes the freezing of sessions of a channel.
func (q SessionRepository) LockSessions(ctx context.Context, channel string) error {
	return classify("lock the sessions", q.q.SessionLock(ctx,
		dbsqlc.SessionLockParams{WorkspaceID: q.ws, Channel: channel}))
}

// SessionEpoch returns how often the workspace's sessions were revoked.
func (q SessionRepository) SessionEpoch(ctx context.Context) (int64, error) {
	n, err := q.q.SessionEpoch(ctx, q.ws)
	return n, classify("read the epoch of the sessions", err)
}

// PutSession stores a frozen session with a limited lifetime. It returns false if sessions were
// revoked after its epoch.
func (q SessionRepository) PutSession(ctx context.Context, s domainconversation.Session,
	lives time.Duration) (domainconversation.Session,
	bool, error) {
	raw, err := encode("the tools", s.Tools)
	if err != nil {
		return s, false, err
	}
	r, err := q.q.SessionPut(ctx, dbsqlc.SessionPutParams{WorkspaceID: q.ws, Epoch: s.Epoch, Channel: s.Channel,
		Lang: s.Lang, Rendered: storable(s.Rendered), Tools: raw, Sha256: s.SHA[:], Lives: lives})
	if isNoRows(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, classify("freeze the session", err)
	}
	s, err = q.SessionByID(ctx, r.ID) // the same bytes as later readers get
	return s, err == nil, err
}

// KeepSession assigns a session to a run, unless it has one, and marks the run as started.
func (q SessionRepository) KeepSession(ctx context.Context, id string,
	s domainconversation.Session) (domainconversation.Session, error) {
	kept, err := q.q.RunSession(ctx, dbsqlc.RunSessionParams{SessionID: &s.ID, WorkspaceID: q.ws, ID: id})
	if err != nil {
		return domainconversation.Session{}, classify("store the session", err)
	}
	if *kept == s.ID {
		return s, nil
	}
	return q.SessionByID(ctx, *kept)
}

// SessionByID reads a session.
func (q SessionRepository) SessionByID(ctx context.Context, id int64) (domainconversation.Session, error) {
	r, err := q.q.SessionGet(ctx, dbsqlc.SessionGetParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return domainconversation.Session{}, classify("read the session", err)
	}
	return sessionOf(r)
}

// RevokeSessions makes every run freeze a new session before its next request.
func (q SessionRepository) RevokeSessions(ctx context.Context) (int, error) {
	if n, err := q.q.SessionsEpochNext(ctx, q.ws); err != nil || n != 1 {
		return 0, oneRow("count a revocation of the sessions", n, err)
	}
	n, err := q.q.SessionsRevoke(ctx, q.ws)
	return int(n), classify("revoke the sessions", err)
}

func sessionOf(r dbsqlc.SessionGetRow) (domainconversation.Session, error) {
	s := domainconversation.Session{ID: r.ID, Rendered: r.Rendered, SHA: [sha256.Size]byte(r.Sha256),
		CreatedAt: r.CreatedAt,
		ExpiresAt: r.ExpiresAt}
	if err := json.Unmarshal(r.Tools, &s.Tools); err != nil {
		return s, fmt.Errorf("decode the tools of session %d: %w", r.ID, err)
	}
	return s, nil
}
