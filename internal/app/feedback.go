package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/memoryagent"
)

// Ratings of an answer.
const (
	Good = "good"
	Bad  = "bad"
)

// Feedback is what somebody says of an answer: one that was given in a turn, or
// one to a question in words.
type Feedback struct {
	Rating       string
	Correction   string // what would have been right; makes the rating bad
	Conversation string // with MessageID: the turn
	MessageID    string
	Question     string // without a turn
	Answer       string
	Bank         string
}

// Noted is what feedback led to.
type Noted struct {
	Question string
	Case     *cases.Case // of an answer that was bad
}

// NoteFeedback makes a hard case of a bad answer and lets a good one resolve it.
// Of a turn both count for the memory skills behind what it was shown. The same
// operation counts once.
func (h *Host) NoteFeedback(ctx context.Context, ws int64, op string, f Feedback) (out Noted, err error) {
	if f.Correction = strings.TrimSpace(f.Correction); f.Correction != "" {
		if f.Rating == Good {
			return out, fault.New(fault.InvalidArgument, "a good answer has no correction", "leave the correction out, or rate the answer bad")
		}
		f.Rating = Bad
	}
	if f.Rating != Good && f.Rating != Bad {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("the rating is %q", f.Rating), "use good or bad, or give a correction")
	}
	failed := cases.FailedQuestion{Op: op, Bank: f.Bank, Source: cases.FromFeedback, Question: f.Question, Prediction: f.Answer}
	if f.MessageID != "" || f.Conversation != "" {
		if err := h.turnOf(ctx, ws, f, &failed); err != nil {
			return out, err
		}
	}
	out.Question = failed.Question
	if f.Rating == Good {
		if strings.TrimSpace(out.Question) == "" {
			return out, fault.New(fault.InvalidArgument, "the feedback is about nothing", "give conversation and message_id, or the question")
		}
		err := h.Learning.Cases.RecordSuccess(ctx, ws, cases.PositiveFeedback{Op: op, Bank: f.Bank, Question: out.Question, Answer: failed.Prediction, Run: failed.Run})
		if err == nil {
			h.learnEarly(ctx, ws)
		}
		return out, err
	}
	if f.Correction != "" {
		failed.Source, failed.Gold = cases.FromCorrection, []string{f.Correction}
	}
	c, err := h.Learning.Cases.RecordFailure(ctx, ws, failed)
	out.Case = &c
	if err == nil {
		h.learnEarly(ctx, ws)
	}
	return out, err
}

// What is not left until night: so many failures since the last round, and so many
// live decisions whose outcome is known since the last update.
const (
	manyFailures = 20
	manyJudged   = 64
)

// learnEarly starts a round, or an update of the policy, when much is new. What
// somebody said is noted whether or not this succeeds: the night finds it.
func (h *Host) learnEarly(ctx context.Context, ws int64) {
	var of postgres.Workspace
	err := h.Store.WithWorkspace(ctx, ws, func(q postgres.Queries) (err error) {
		of, err = q.Self(ctx)
		return err
	})
	if err == nil {
		_, err = h.Learning.Rounds.AcceptDue(ctx, h.evolving(ws, of.Key, manyFailures))
	}
	if err == nil {
		_, err = h.Learning.Updates.AcceptDue(ctx, h.evolving(ws, of.Key, manyJudged))
	}
	if err != nil {
		h.Log.Warn("nothing could be learnt early; it will be at night", "workspace", ws, "error", err)
	}
}

func (h *Host) evolving(ws int64, workspaceKey string, least int) runspec.Due {
	return runspec.Due{Workspace: ws, WorkspaceKey: workspaceKey, Spec: EvolveSpec(h.Config), Least: least}
}

// turnOf fills in what a turn was asked and what it answered.
func (h *Host) turnOf(ctx context.Context, ws int64, f Feedback, into *cases.FailedQuestion) error {
	answer, err := h.Converse.Answer(ctx, ws, f.Conversation, f.MessageID)
	if err != nil {
		return err
	}
	if answer.Status != conversation.StatusEnded {
		return fault.New(fault.Unavailable, fmt.Sprintf("message %q is being answered still", f.MessageID), "wait for the answer, then rate it")
	}
	var c transcript.Conversation
	err = h.Store.WithWorkspace(ctx, ws, func(q postgres.Queries) error {
		v, err := q.ConversationView(ctx, f.Conversation)
		if err == nil {
			into.Conversation = v.ID
			c, err = q.Conversation(ctx, v.ID, 0, max(answer.ReplySeq, v.Messages))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range c.Messages {
		if m.ID == f.MessageID {
			into.Question = m.Content
		}
	}
	into.Prediction, into.Run = answer.Reply, answer.Run
	return nil
}

// missed makes a hard case of a question that memory had nothing for, where
// memories are built with the skills that could do better.
func (h *Host) missed(ctx context.Context, q memoryagent.Question, a memoryagent.Answer) error {
	builder := ""
	err := h.Store.WithWorkspace(ctx, q.Workspace, func(tx postgres.Queries) error {
		chosen, err := tx.Settings(ctx)
		builder = chosen.Memory.Builder
		return err
	})
	if err != nil || builder != settings.BuilderSkills || len([]rune(q.Query)) > longestQuestion {
		return err
	}
	op := q.ID
	if op == "" {
		op = uuid.NewString() // each time that it is asked is a failure of its own
	}
	_, err = h.Learning.Cases.RecordFailure(ctx, q.Workspace, cases.FailedQuestion{Op: "retrieve/" + op + "/" + cases.Key(q.Query), Source: cases.FromRetrieval, Question: q.Query, Prediction: a.Text, Run: a.Run})
	if err == nil {
		h.learnEarly(ctx, q.Workspace)
	}
	return err
}

// longestQuestion is what a case holds, in characters.
const longestQuestion = 2000
