package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// Explorer returns the store of the read models for people.
func (s *Store) Explorer() Explorer { return Explorer{s} }

// Explorer lists rows for people.
type Explorer struct{ *Store }

// ExploreRuns lists runs with their usage.
func (s Explorer) ExploreRuns(ctx context.Context, ws int64, f readmodel.RunFilter, max int) ([]readmodel.Run, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Run, error) {
		rows, err := q.q.ExploreRuns(ctx, dbsqlc.ExploreRunsParams{
			WorkspaceID:  ws,
			Kind:         f.Kind,
			Status:       f.Status,
			Outcome:      f.Outcome,
			Conversation: storable(f.Conversation),
			Model:        storable(f.Model),
			Since:        timeOrNil(f.Since),
			Before:       timeOrNil(f.Before),
			BeforeID:     storable(f.BeforeID),
			MaxRows:      int32(max),
		})
		out := make([]readmodel.Run, len(rows))
		for i, r := range rows {
			out[i] = readmodel.Run{Run: run.Run{
				Ref:        run.Ref{Workspace: ws, Run: r.ID},
				Kind:       run.Kind(r.Kind),
				Key:        r.BusinessKey,
				Generation: int(r.Generation),
				Attempt:    int(r.Attempt),
				Status:     run.Status(r.Status),
				Outcome:    run.Outcome(r.Outcome),
				Reason:     r.Reason,
				WorkflowID: r.WorkflowID,
				CreatedAt:  r.CreatedAt,
				StartedAt:  r.StartedAt,
				EndedAt:    r.EndedAt,
			}, Title: r.Title, Conversation: r.Conversation, Calls: r.Calls,
				Tokens: r.Tokens, CostMicros: r.CostMicros, Unpriced: r.Unpriced, Models: r.Models}
		}
		return out, classify("list the runs", err)
	})
}

// ExploreParts returns what a run did.
func (s Explorer) ExploreParts(ctx context.Context, ref run.Ref, runes int) (readmodel.Parts, error) {
	return inWorkspace(ctx, s.Store, ref.Workspace, func(ctx context.Context, q Tx) (out readmodel.Parts, err error) {
		if out.Run, err = q.Runs().Run(ctx, ref.Run); err != nil {
			return out, err
		}
		if out.Calls, err = q.Calls().Calls(ctx, ref); err != nil {
			return out, err
		}
		steps, err := q.q.ExploreSteps(ctx, dbsqlc.ExploreStepsParams{WorkspaceID: q.ws, RunID: ref.Run,
			MaxChars: int32(runes)})
		if err != nil {
			return out, classify("list the steps", err)
		}
		for _, r := range steps {
			out.Steps = append(out.Steps, readmodel.Step{Step: int(r.Step), Note: r.Note, Content: r.Content,
				Runes: int(r.Chars), Finish: r.Finish, CreatedAt: r.CreatedAt})
		}
		tools, err := q.q.ExploreToolCalls(ctx, dbsqlc.ExploreToolCallsParams{WorkspaceID: q.ws, RunID: ref.Run,
			MaxChars: int32(runes)})
		if err != nil {
			return out, classify("list the tool calls", err)
		}
		for _, r := range tools {
			out.Tools = append(
				out.Tools,
				readmodel.AgentToolCall{Step: int(r.Step), Position: int(r.Position), Tool: r.Tool,
					Class: r.Class, Arguments: r.Arguments, Result: r.Result, Code: r.Code, BegunAt: r.BegunAt,
					EndedAt: r.EndedAt},
			)
		}
		children, err := q.q.ExploreChildren(ctx, dbsqlc.ExploreChildrenParams{WorkspaceID: q.ws, ParentID: &ref.Run,
			MaxRows: maxChildren})
		for _, r := range children {
			out.Children = append(
				out.Children,
				run.Run{Ref: run.Ref{Workspace: q.ws, Run: r.ID}, Kind: run.Kind(r.Kind),
					Status: run.Status(r.Status), Outcome: run.Outcome(r.Outcome), CreatedAt: r.CreatedAt,
					StartedAt: r.StartedAt, EndedAt: r.EndedAt},
			)
		}
		return out, classify("list the child runs", err)
	})
}

const maxChildren = 1000

// ExploreUsage sums the model calls by local day, model and kind of run.
func (s Explorer) ExploreUsage(ctx context.Context, ws int64, zone string, since, until time.Time) ([]readmodel.Usage,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Usage, error) {
		rows, err := q.q.ExploreUsage(ctx, dbsqlc.ExploreUsageParams{WorkspaceID: ws, Zone: zone, Since: since,
			Until: until})
		out := make([]readmodel.Usage, len(rows))
		for i, r := range rows {
			out[i] = readmodel.Usage{Day: r.Day, Model: r.Model, Kind: r.Kind, Calls: r.Calls, Input: r.InputTokens,
				Output: r.OutputTokens, Cached: r.CachedTokens, Micros: r.CostMicros, Unpriced: r.Unpriced,
				Failed: r.Failed}
		}
		return out, classify("sum the model calls", err)
	})
}

// ExploreConversations lists conversations. Their counters are not read.
func (s Explorer) ExploreConversations(ctx context.Context, ws int64, f readmodel.ConversationFilter,
	max int) ([]conversation.View, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]conversation.View, error) {
		rows, err := q.q.ExploreConversations(ctx, dbsqlc.ExploreConversationsParams{WorkspaceID: ws,
			Channel: storable(f.Channel), Q: storable(f.Query), Before: f.Before, MaxRows: int32(max)})
		if err != nil {
			return nil, classify("list the conversations", err)
		}
		out := make([]conversation.View, len(rows))
		for i, r := range rows {
			if out[i], err = viewOf(dbsqlc.ConversationByNameRow(r)); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// ExploreTurns lists turns with what they were shown and what they wrote.
func (s Explorer) ExploreTurns(ctx context.Context, ws int64, name string, from, to, runes int) ([]readmodel.Turn,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Turn, error) {
		c, err := q.q.ExploreConversation(ctx, dbsqlc.ExploreConversationParams{WorkspaceID: ws, Name: storable(name)})
		if isNoRows(err) {
			return nil, fault.New(fault.NotFound, fmt.Sprintf("conversation %.200q not found", name),
				"list the conversations of the workspace")
		}
		if err != nil {
			return nil, classify("find the conversation", err)
		}
		rows, err := q.q.ExploreTurns(ctx, dbsqlc.ExploreTurnsParams{WorkspaceID: ws, ConversationID: c.ID,
			FromNumber: int32(from), ToNumber: int32(to)})
		if err != nil {
			return nil, classify("list the turns", err)
		}
		out := make([]readmodel.Turn, len(rows))
		of := map[string]*readmodel.Turn{}
		var runs []string
		for i, r := range rows {
			if out[i], err = exploredTurn(r); err != nil {
				return nil, err
			}
			if r.RunID != "" {
				of[r.RunID], runs = &out[i], append(runs, r.RunID)
			}
		}
		return out, q.addViews(ctx, runs, of, runes)
	})
}

func exploredTurn(r dbsqlc.ExploreTurnsRow) (readmodel.Turn, error) {
	t := readmodel.Turn{Number: int(r.Number), MessageID: r.MessageID, Mode: r.Mode, Origin: r.Origin, Run: r.RunID,
		WorkflowID: r.WorkflowID, Status: r.Status, Reason: r.Reason, FirstSeq: int(r.FirstSeq),
		ReplySeq: int(r.ReplySeq), Tainted: r.Tainted, Memories: []readmodel.TurnMemory{},
		Skills:     []readmodel.TurnSkill{},
		Remembered: []readmodel.TurnMemory{}, Calls: r.Calls, Tokens: r.Tokens,
		CostMicros: readmodel.Cost(r.CostMicros, r.Calls, r.Unpriced), AcceptedAt: r.AcceptedAt, EndedAt: r.EndedAt}
	if err := json.Unmarshal(r.Writes, &t.Writes); err != nil {
		return t, fmt.Errorf("decode the writes of run %s: %w", r.RunID, err)
	}
	return t, nil
}

// addViews adds the memories and skills of runs to their turns.
func (q Tx) addViews(ctx context.Context, runs []string, of map[string]*readmodel.Turn, runes int) error {
	if len(runs) == 0 {
		return nil
	}
	shown, err := q.q.ExploreShownMemories(ctx, dbsqlc.ExploreShownMemoriesParams{WorkspaceID: q.ws, Runs: runs,
		MaxChars: int32(runes)})
	if err != nil {
		return classify("list the shown memories", err)
	}
	for _, r := range shown {
		t := of[r.RunID]
		t.Memories = append(t.Memories, readmodel.TurnMemory{ID: r.ExternalID, Type: r.Type, Target: r.Target,
			Content: r.Content, Status: r.Status})
	}
	written, err := q.q.ExploreWrittenMemories(ctx, dbsqlc.ExploreWrittenMemoriesParams{WorkspaceID: q.ws, Runs: runs,
		MaxChars: int32(runes)})
	if err != nil {
		return classify("list the written memories", err)
	}
	for _, r := range written {
		t := of[r.RunID]
		t.Remembered = append(t.Remembered, readmodel.TurnMemory{ID: r.ExternalID, Type: r.Type, Target: r.Target,
			Content: r.Content, Version: int(r.Version), Action: r.Action})
	}
	skills, err := q.q.ExploreShownSkills(ctx, dbsqlc.ExploreShownSkillsParams{WorkspaceID: q.ws, Runs: runs})
	for _, r := range skills {
		t := of[r.RunID]
		t.Skills = append(t.Skills, readmodel.TurnSkill{Name: r.Name, Version: int(r.Version)})
	}
	return classify("list the shown skills", err)
}

// ExploreMemories lists memories as they are, or as they were at a time.
func (s Explorer) ExploreMemories(ctx context.Context, ws int64, f readmodel.MemoryFilter, runes,
	max int) ([]readmodel.Memory, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (out []readmodel.Memory, err error) {
		if f.AsOf.IsZero() {
			rows, err := q.q.ExploreMemories(ctx, dbsqlc.ExploreMemoriesParams{
				WorkspaceID: ws,
				Type:        f.Type,
				Status:      f.Status,
				Origin:      f.Origin,
				Target:      storable(f.Target),
				AnyCase:     f.AnyCase,
				Before:      f.Before,
				MaxChars:    int32(runes),
				MaxRows:     int32(max),
			})
			for _, r := range rows {
				out = append(out, readmodel.Memory{Key: r.ID, ID: r.ExternalID, Type: r.Type, Target: r.Target,
					Content: r.Content, Version: int(r.Version), Status: r.Status, Origin: r.Origin, Tainted: r.Tainted,
					CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt})
			}
			return out, classify("list the memories", err)
		}
		rows, err := q.q.ExploreMemoriesAsOf(ctx, dbsqlc.ExploreMemoriesAsOfParams{WorkspaceID: ws, AsOf: f.AsOf,
			Type: f.Type, Target: storable(f.Target), AnyCase: f.AnyCase, Before: f.Before, MaxChars: int32(runes),
			MaxRows: int32(max)})
		for _, r := range rows {
			m := readmodel.Memory{Key: r.ID, ID: r.ExternalID, Type: r.Type, Target: r.Target, Content: r.Content,
				Version: int(r.Version), Status: r.NowStatus, Origin: r.Origin, Tainted: r.Tainted,
				CreatedAt: r.CreatedAt, UpdatedAt: r.Since, Changed: r.Changed}
			if r.Changed {
				m.Now = r.NowContent
			}
			out = append(out, m)
		}
		return out, classify("list the memories of then", err)
	})
}

// ExploreMemoryViews lists the runs that were shown a memory before a time and a run, the latest first.
func (s Explorer) ExploreMemoryViews(ctx context.Context, ws int64, id string, before time.Time, beforeID string,
	max int) ([]readmodel.MemoryView, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.MemoryView, error) {
		rows, err := q.q.ExploreMemoryViews(ctx, dbsqlc.ExploreMemoryViewsParams{WorkspaceID: ws, Memory: storable(id),
			Before: timeOrNil(before), BeforeID: storable(beforeID), MaxRows: int32(max)})
		out := make([]readmodel.MemoryView, len(rows))
		for i, r := range rows {
			out[i] = readmodel.MemoryView{Run: r.RunID, Kind: run.Kind(r.Kind), Conversation: r.Conversation,
				Turn: int(r.Turn), Seq: int(r.Seq), At: r.CreatedAt}
		}
		return out, classify("list the runs that were shown the memory", err)
	})
}

// ExploreOutbox lists the tasks of the outbox after a place.
func (s Explorer) ExploreOutbox(ctx context.Context, ws int64, after readmodel.OutboxKey,
	max int) ([]readmodel.OutboxTask,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.OutboxTask, error) {
		rows, err := q.q.ExploreOutbox(ctx, dbsqlc.ExploreOutboxParams{WorkspaceID: ws,
			Failures: int32(after.Failures), CreatedAt: after.CreatedAt, ID: after.ID, MaxRows: int32(max)})
		out := make([]readmodel.OutboxTask, len(rows))
		for i, r := range rows {
			out[i] = readmodel.OutboxTask{ID: r.ID, Kind: r.Kind, Key: r.Key, Attempts: int(r.Attempts),
				Failures: int(r.Failures), Error: r.LastError, CreatedAt: r.CreatedAt, DueAt: r.DueAt,
				FailedSince: r.FailedSince}
		}
		return out, classify("list the outbox", err)
	})
}

// RetryOutbox makes a task due.
func (s Explorer) RetryOutbox(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.ExploreOutboxRetry(ctx, dbsqlc.ExploreOutboxRetryParams{WorkspaceID: ws, ID: id})
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("outbox task %d not found", id),
				"the task may be done: list the outbox again")
		}
		return classify("make the outbox task due", err)
	})
}

// ExploreSkillUses lists the uses of a skill before a time and a use, the latest first.
func (s Explorer) ExploreSkillUses(ctx context.Context, ws, skill int64, before time.Time, beforeID string, max int) (
	[]readmodel.SkillUse, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.SkillUse, error) {
		rows, err := q.q.ExploreSkillUses(ctx, dbsqlc.ExploreSkillUsesParams{WorkspaceID: ws, SkillID: skill,
			Before: timeOrNil(before), BeforeID: storable(beforeID), MaxRows: int32(max)})
		out := make([]readmodel.SkillUse, len(rows))
		for i, r := range rows {
			out[i] = readmodel.SkillUse{ID: r.UseID, Version: int(r.Version), Canary: r.Canary, Outcome: r.Outcome,
				Run: r.RunID, Kind: r.Kind, Conversation: r.Conversation, At: r.CreatedAt, DecidedAt: r.DecidedAt}
		}
		return out, classify("list the uses of the skill", err)
	})
}

// ExploreScores returns the scores of the decisions of a bank by local day.
func (s Explorer) ExploreScores(ctx context.Context, ws int64, bank, zone string,
	since time.Time) ([]readmodel.DayScore,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.DayScore, error) {
		rows, err := q.q.ExploreScores(ctx, dbsqlc.ExploreScoresParams{WorkspaceID: ws, Bank: storable(bank),
			Zone: zone, Since: since})
		out := make([]readmodel.DayScore, len(rows))
		for i, r := range rows {
			out[i] = readmodel.DayScore{Day: r.Day, Canary: r.Canary, N: r.N, Mean: r.Mean, Deviation: r.Deviation}
		}
		return out, classify("read the scores", err)
	})
}
