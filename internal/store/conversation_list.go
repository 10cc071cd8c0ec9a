package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// Lines reads a page of a conversation's messages after a message number.
func (q ConversationViewRepository) Lines(ctx context.Context, conversationID int64, after,
	max int) ([]conversation.Line, error) {
	rows, err := q.q.MessagesPage(ctx, dbsqlc.MessagesPageParams{WorkspaceID: q.ws, ConversationID: conversationID,
		After: int32(after), MaxRows: int32(max)})
	if err != nil {
		return nil, classify("read the messages", err)
	}
	out := make([]conversation.Line, len(rows))
	for i, r := range rows {
		l := conversation.Line{Seq: int(r.Seq), ID: conversation.TurnMessageID(r.ExternalID),
			Role:    transcript.Role(r.Role),
			Content: r.Content, Name: r.Name, ToolCallID: r.ToolCallID, CreatedAt: r.CreatedAt}
		if r.Turn != nil {
			l.Turn = int(*r.Turn)
		}
		if err := json.Unmarshal(r.ToolCalls, &l.ToolCalls); err != nil {
			return nil, fmt.Errorf("decode the tool calls of message %d: %w", r.Seq, err)
		}
		if l.Details, err = readDetails(r.Details); err != nil {
			return nil, err
		}
		out[i] = l
	}
	return out, nil
}

// AgentProgress reads the progress of a turn or a review.
func (q ConversationViewRepository) AgentProgress(ctx context.Context, id string) (conversation.Progress, error) {
	r, err := q.q.AgentProgress(ctx, dbsqlc.AgentProgressParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return conversation.Progress{}, noRun(id, err)
	}
	calls, err := q.q.AgentCallsShort(ctx, dbsqlc.AgentCallsShortParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return conversation.Progress{}, classify("read the tool calls", err)
	}
	out := conversation.Progress{Run: id, Kind: run.Kind(r.Kind), Status: run.Status(r.Status),
		Outcome: run.Outcome(r.Outcome), Attempt: int(r.Attempt),
		Steps: int(r.Steps), Tools: make([]conversation.ToolProgress, len(calls)), Calls: int(r.Calls),
		Tokens: r.Tokens}
	for i, c := range calls {
		out.Tools[i] = conversation.ToolProgress{Step: int(c.Step), Tool: c.Tool, Done: c.Done, Code: c.Code}
	}
	return out, nil
}

// PatchSettings changes the workspace's settings, as settings.Patch does, and returns the result.
// Two concurrent patches both take effect.
func (q WorkspaceRepository) PatchSettings(ctx context.Context, patch json.RawMessage) (settings.Settings, error) {
	row, err := q.q.WorkspaceSettingsLock(ctx, q.ws)
	if err != nil {
		return settings.Settings{}, classify("read the settings", err)
	}
	now, err := settings.Read(row.Settings)
	if err != nil {
		return settings.Settings{}, err
	}
	now.TimeZone, now.ReflectionCron = row.TimeZone, row.ReflectionCron
	was := now
	if now, err = settings.Patch(now, patch); err != nil {
		return settings.Settings{}, err
	}
	if err := q.recordPatch(ctx, was, now, patch); err != nil {
		return now, err
	}
	if err := q.SetSettings(ctx, now); err != nil || was.Nudge == now.Nudge &&
		was.Memory.IdleMinutes == now.Memory.IdleMinutes {
		return now, err
	}
	return now, q.transaction().Outbox().Enqueue(ctx, outbox.NotifySettings, "0", 0)
}

// Running lists the conversations with a message within a period, the latest first. Their workflows
// may be running.
func (q ConversationViewRepository) Running(ctx context.Context, within time.Duration, max int) ([]int64, error) {
	ids, err := q.q.ConversationsRunning(ctx,
		dbsqlc.ConversationsRunningParams{WorkspaceID: q.ws, Within: within, MaxRows: int32(max)})
	return ids, classify("list the running conversations", err)
}

// ConversationName returns the gateway's ID of a conversation, and its title.
func (q ConversationViewRepository) ConversationName(ctx context.Context, id int64) (name, title string, err error) {
	r, err := q.q.ConversationName(ctx, dbsqlc.ConversationNameParams{WorkspaceID: q.ws, ID: id})
	return r.ExternalID, r.Title, classify("read the conversation's name", err)
}
