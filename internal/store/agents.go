package store

import (
	"context"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// PutAgentRun records a run of an agent. If a run with its key exists, that one is returned.
func (q AgentRunRepository) PutAgentRun(ctx context.Context, n run.NewAgentRun) (run.Run, error) {
	p := dbsqlc.AgentRunPutParams{WorkspaceID: q.ws, ID: run.NewID(), Kind: string(n.Kind),
		BusinessKey: storable(n.Key), Generation: int32(n.Generation), ArgsSha: n.ArgsSHA[:],
		ConversationID: keyOrNull(n.Conversation), ParentID: keyOrNull(n.Parent), Spec: n.Spec,
		WorkflowID: n.WorkflowID}
	if n.Add != nil {
		tokens := int32(n.Add.Tokens)
		p.AddSubject, p.AddJoins, p.AddTokens = &n.Add.Subject, &n.Add.Joins, &tokens
	}
	id, err := q.q.AgentRunPut(ctx, p)
	if err != nil {
		return run.Run{}, classify("record the run", err)
	}
	return q.transaction().Runs().Run(ctx, id)
}

// Children returns the runs to which a run has handed off work, the first one first.
func (q AgentRunRepository) Children(ctx context.Context, parent string) ([]run.Run, error) {
	rows, err := q.q.RunsOfParent(ctx, dbsqlc.RunsOfParentParams{WorkspaceID: q.ws, ParentID: &parent})
	if err != nil {
		return nil, classify("list the runs of a run", err)
	}
	out := make([]run.Run, len(rows))
	for i, r := range rows {
		out[i] = runOf(r)
	}
	return out, nil
}

// OpenRunOf finds an open run of a conversation.
func (q AgentRunRepository) OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (string, bool, error) {
	id, err := q.q.RunOpenOf(ctx, dbsqlc.RunOpenOfParams{WorkspaceID: q.ws, Kind: string(kind),
		ConversationID: &conversation})
	if isNoRows(err) {
		return "", false, nil
	}
	return id, err == nil, classify("find an open run", err)
}

// Mark returns the number of the last message of a conversation that was read for a kind of work,
// or -1 for none.
func (q AgentRunRepository) Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error) {
	seq, err := q.q.MarkGet(ctx, dbsqlc.MarkGetParams{WorkspaceID: q.ws, ConversationID: conversation,
		Kind: string(kind)})
	if isNoRows(err) {
		return -1, nil
	}
	return int(seq), classify("read a mark", err)
}

// SetMark moves a mark forward.
func (q AgentRunRepository) SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id string) error {
	return classify("set a mark", q.q.MarkSet(ctx,
		dbsqlc.MarkSetParams{WorkspaceID: q.ws, ConversationID: conversation, Kind: string(kind), Seq: int32(seq),
			RunID: keyOrNull(id)}))
}

// OpenAdds counts the open adds of the workspace and of the deployment.
func (q AgentRunRepository) OpenAdds(ctx context.Context) (out run.AddQueue, err error) {
	r, err := q.q.AddsCount(ctx)
	age := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return run.AddQueue{Mine: int(r.Mine), Everyone: int(r.Everyone), MineAge: age(r.MineSeconds),
		EveryoneAge: age(r.EveryoneSeconds)}, classify("count the open adds", err)
}

// AnyLongTerm reports whether the workspace has long-term memories.
func (q AgentRunRepository) AnyLongTerm(ctx context.Context) (bool, error) {
	found, err := q.q.LongTermAny(ctx, q.ws)
	return found, classify("find memories", err)
}

// SkillsNamed reads the active skills with the given names.
func (q SkillRepository) SkillsNamed(ctx context.Context, names []string) ([]skill.Head, error) {
	rows, err := q.q.SkillsNamed(ctx, dbsqlc.SkillsNamedParams{WorkspaceID: q.ws, Names: names})
	if err != nil {
		return nil, classify("read skills by name", err)
	}
	out := make([]skill.Head, len(rows))
	for i, r := range rows {
		out[i] = skill.Head{ID: r.ID, Name: r.Name, Category: r.Category, Status: skill.Status(r.Status),
			Version: int(r.HeadVersion), Description: r.Description, UpdatedAt: r.UpdatedAt}
	}
	return out, nil
}
