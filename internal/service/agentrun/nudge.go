package agentrun

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// OpenNudge records a review of the messages since the last review, once per turn, with the
// outbox task that runs it, and pins the prompt. If the workspace uses memory skills, it also starts
// building memories from the conversation.
func (s *Service) OpenNudge(ctx context.Context, r contract.NudgeInput) (out contract.OpenNudgeResult, err error) {
	if out, err = s.openReview(ctx, r); err == nil && s.Builder != nil {
		_, err = s.Builder.Build(ctx, contract.IdleInput{Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey,
			Conversation: r.Conversation})
	}
	return out, err
}

func (s *Service) openReview(ctx context.Context, r contract.NudgeInput) (out contract.OpenNudgeResult, err error) {
	var (
		key    = fmt.Sprintf("%d/%d", r.Conversation, r.Number)
		spec   = s.NudgeSpec()
		made   run.Run
		unread []conversation.TurnMessage
		found  bool
	)
	spec.Origin, spec.Budget, spec.Number, spec.Turn = agent.OriginNudge, agent.ForNudge(), r.Number, r.Turn
	err = s.Store.InWorkspaceByKeys(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		if made, found, err = tx.Runs().RunOf(ctx, run.Nudge, key); err != nil || found {
			return err
		}
		if capped, err := cappedToday(ctx, tx); err != nil || capped {
			out = contract.OpenNudgeResult{
				RunRef: contract.RunRef{Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey},
				Ended:  &contract.AgentResult{Status: NudgeCapped, Reason: agent.OverBudget, ReplySeq: -1},
			}
			return err
		}
		c, err := tx.Conversations().LockConversation(ctx, r.Conversation)
		if err != nil {
			return err
		}
		// Turns may have been counted since the review was started.
		spec.Channel, spec.After, c.Counters = c.Channel, c.Reviewed, nudge.Join(r.Counters, c.Counters)
		if err := tx.Conversations().SaveCounters(ctx, c); err != nil {
			return err
		}
		unread, err = tx.Transcripts().Messages(ctx, r.Conversation, spec.After, r.Turn)
		return err
	})
	if err != nil || out.Ended != nil {
		return out, err
	}
	if !found {
		made, err = s.recordReview(ctx, r, key, spec, unread)
	}
	if err != nil {
		return out, err
	}
	return Opened(r.WorkspaceKey, made)
}

// Opened returns a run of a review or of a reflection, with its result if it has ended.
func Opened(workspaceKey string, r run.Run) (contract.OpenNudgeResult, error) {
	spec, err := SpecOf(r)
	out := contract.OpenNudgeResult{
		RunRef: contract.RefOf(workspaceKey, r), Budget: spec.Budget, Timeouts: spec.Timeouts(),
	}
	if err != nil || r.Status != run.Ended {
		return out, err
	}
	ended, err := (&runState{run: r}).ended()
	out.Ended = encoded(ended)
	return out, err
}

func cappedToday(ctx context.Context, tx store.Tx) (bool, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil {
		return false, err
	}
	today, err := tx.Conversations().NudgesToday(ctx)
	return chosen.Nudge.Capped(today), err
}

func (s *Service) recordReview(ctx context.Context, r contract.NudgeInput, key string, spec Spec,
	unread []conversation.TurnMessage) (made run.Run, err error) {
	if err := s.pinReview(ctx, r, &spec, unread); err != nil {
		return made, err
	}
	raw, err := spec.Encode()
	if err != nil {
		return made, err
	}
	err = s.Store.InWorkspaceByKeys(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		made, err = tx.Runs().PutRun(ctx, run.NewRun{Kind: run.Nudge, Key: key, ArgsSHA: sha256.Sum256([]byte(key)),
			Conversation: r.Conversation, Spec: raw,
			WorkflowID: contract.NudgeID(r.WorkspaceKey, r.Conversation, r.Number)})
		if err != nil || made.Status == run.Ended {
			return err
		}
		if len(unread) > 0 {
			return tx.Runs().EnqueueRun(ctx, made.Ref.Run)
		}
		c, err := tx.Conversations().LockConversation(ctx, r.Conversation)
		if err != nil {
			return err
		}
		st := &runState{run: made, spec: spec} // no messages to review: end without a model call
		if _, err := st.closeNudge(ctx, tx, c, ending{reason: agent.Final}); err != nil {
			return err
		}
		made, err = tx.Runs().Run(ctx, made.Ref.Run)
		return err
	})
	return made, err
}

// pinReview renders the prompt of the review: instructions, tools, and the transcript as data
// without secrets.
func (s *Service) pinReview(ctx context.Context, r contract.NudgeInput, spec *Spec,
	unread []conversation.TurnMessage) (err error) {
	known, err := s.Memory.Remembered(ctx, r.Workspace)
	if err != nil {
		return fmt.Errorf("read what is remembered: %w", err)
	}
	messages := make([]transcript.Message, 0, len(unread))
	for _, m := range unread {
		if m.Role == transcript.Tool && attacks(m.Content) {
			spec.Tainted = true
		}
		messages = append(messages, m.Message)
		spec.ToSeq = max(spec.ToSeq, m.Seq)
	}
	if len(messages) > 0 {
		spec.FromSeq = messages[0].Seq
	}
	spec.Lang = lang.OfMessages(messages)
	messages, _ = guard.NewRedactor(guard.Options{}).Messages(messages)
	material := prompt.Material{Messages: transcript.Material(messages, spec.Limits.ResultChars),
		Memories: known.Entries(), Skills: known.SkillLines(), Language: spec.Lang}
	if older := len(material.Messages) - spec.Limits.NudgeMessages; older > 0 {
		material.History, material.Messages = clipped(material.Messages[max(0, older-digestMessages):older]),
			material.Messages[older:]
	}
	// Each response resends the material, so all requests together must fit the budget.
	if spec.Material, err = prompt.User(Fitted(material, spec.Limits.InputTokens/(spec.Budget.Max+2))); err != nil {
		return err
	}
	spec.Tools = offered(s.Tools.Offered(agent.OriginNudge))
	spec.System, err = prompt.Nudge(spec.Lang, r.Memory, r.Skill)
	return err
}

// digestChars is the length in characters to which older messages are clipped.
const digestChars = 200

// digestMessages limits the number of older, clipped messages. Without it, messages that pile up
// while the model is unavailable would make the next review too long.
const digestMessages = 200

func clipped(in []prompt.Message) []prompt.Message {
	out := make([]prompt.Message, len(in))
	for i, m := range in {
		m.Content = transcript.Clip(m.Content, digestChars)
		out[i] = m
	}
	return out
}

// Statuses of a review.
const (
	NudgeSaved   = "saved"
	NudgeNothing = "nothing"
	NudgeBudget  = "budget"
	NudgeFailed  = "failed"
	NudgeCapped  = "capped" // not started: the daily limit of the workspace is reached
)

// reviewStatus returns the status of a review from the reason of its end and the number of its writes.
func reviewStatus(reason agent.Reason, writes int) string {
	switch {
	case reason == agent.Exhausted || reason == agent.WallClock:
		return NudgeBudget
	case reason == agent.ProviderError || reason == agent.Interrupted || reason == agent.OverBudget ||
		reason == agent.Lost:
		return NudgeFailed
	case writes > 0:
		return NudgeSaved
	}
	return NudgeNothing
}

// closeNudge ends a review. The next reply of the conversation announces its saved and pending changes.
func (st *runState) closeNudge(ctx context.Context, tx store.Tx, c conversation.Conversation, e ending) (*run.Result,
	error) {
	out := &run.Result{
		Reason:   e.reason,
		Detail:   e.detail,
		Steps:    len(st.steps),
		Writes:   st.writes(),
		Staged:   st.staged(),
		ReplySeq: -1,
		Number:   st.spec.Number,
	}
	out.Status = reviewStatus(e.reason, len(out.Writes))
	c.Counters = reviewed(c.Counters, out)
	if out.Status != NudgeFailed {
		c.Reviewed = max(c.Reviewed, st.spec.Turn)
	}
	if err := tx.Conversations().SaveCounters(ctx, c); err != nil {
		return nil, err
	}
	if len(out.Writes) > 0 || out.Staged > 0 {
		if err := tx.Conversations().SetNotice(ctx, st.run.Conversation,
			notice(st.spec.Lang, out.Writes, out.Staged)); err != nil {
			return nil, err
		}
	}
	return out, tx.Runs().EndRun(ctx, st.run.Ref.Run, OutcomeOf(e.reason), out.Status, out)
}

// reviewed returns the counters after a review. After a failed review, its messages stay unreviewed.
func reviewed(c nudge.Counters, e *run.Result) nudge.Counters {
	if e.Status == NudgeFailed {
		return nudge.Lost(c, e.Number)
	}
	return nudge.Finished(c, e.Number)
}

// notice renders what a review has saved: skills by name, memories and pending changes by number.
func notice(lang string, writes []run.Write, staged int) string {
	var skills []string
	memories := 0
	for _, w := range writes {
		if w.Name != "" {
			skills = append(skills, w.Name)
		} else {
			memories++
		}
	}
	return prompt.Notice(lang, skills, memories, staged)
}
