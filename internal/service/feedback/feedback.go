// Package feedback takes ratings and corrections of answers, and what memory had
// nothing for, as something to learn from.
package feedback

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
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

// Input is what somebody says of an answer: one that was given in a turn, or
// one to a question in words.
type Input struct {
	Rating       string
	Correction   string // what would have been right; makes the rating bad
	Conversation string // with MessageID: the turn
	MessageID    string
	Question     string // without a turn
	Answer       string
	Bank         string
}

// Result is what feedback led to.
type Result struct {
	Question string
	Case     *cases.Case // of an answer that was bad
}

// Store reads what feedback is about.
type Store interface {
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
	Self(ctx context.Context, ws int64) (tenancy.Workspace, error)
	// Transcript is a conversation with at least the messages up to seq, and its number.
	Transcript(ctx context.Context, ws int64, name string, seq int) (int64, transcript.Conversation, error)
}

// Answers tell what became of messages.
type Answers interface {
	Answer(ctx context.Context, ws int64, conversation, message string) (conversation.TurnStatus, error)
}

// Cases record how questions were answered.
type Cases interface {
	RecordFailure(ctx context.Context, ws int64, f cases.FailedQuestion) (cases.Case, error)
	RecordSuccess(ctx context.Context, ws int64, p cases.PositiveFeedback) error
}

// DueRuns starts the runs that are due in a workspace.
type DueRuns interface {
	AcceptDue(ctx context.Context, d runspec.Due) ([]run.Run, error)
}

// Ports are what the service works with.
type Ports struct {
	Store   Store
	Answers Answers
	Cases   Cases
	Rounds  DueRuns             // of evolution
	Updates DueRuns             // of policies
	Spec    func() runspec.Spec // of the runs that learn
	Log     *slog.Logger
}

// Service notes feedback, and has it learned from early when there is much of it.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("feedback", map[string]any{"Store": p.Store, "Answers": p.Answers, "Cases": p.Cases,
		"Rounds": p.Rounds, "Updates": p.Updates, "Spec": p.Spec, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Note makes a hard case of a bad answer and lets a good one resolve it.
// Of a turn both count for the memory skills behind what it was shown. The same
// operation counts once.
func (s *Service) Note(ctx context.Context, ws int64, op string, f Input) (out Result, err error) {
	if f.Correction = strings.TrimSpace(f.Correction); f.Correction != "" {
		if f.Rating == Good {
			return out, fault.New(fault.InvalidArgument, "a good answer has no correction",
				"leave the correction out, or rate the answer bad")
		}
		f.Rating = Bad
	}
	if f.Rating != Good && f.Rating != Bad {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("the rating is %q", f.Rating),
			"use good or bad, or give a correction")
	}
	failed := cases.FailedQuestion{Op: op, Bank: f.Bank, Source: cases.FromFeedback, Question: f.Question,
		Prediction: f.Answer}
	if f.MessageID != "" || f.Conversation != "" {
		if err := s.turnOf(ctx, ws, f, &failed); err != nil {
			return out, err
		}
	}
	out.Question = failed.Question
	if f.Rating == Good {
		if strings.TrimSpace(out.Question) == "" {
			return out, fault.New(fault.InvalidArgument, "the feedback is about nothing",
				"give conversation and message_id, or the question")
		}
		err := s.Cases.RecordSuccess(ctx, ws,
			cases.PositiveFeedback{Op: op, Bank: f.Bank, Question: out.Question, Answer: failed.Prediction,
				Run: failed.Run})
		if err == nil {
			s.LearnEarly(ctx, ws)
		}
		return out, err
	}
	if f.Correction != "" {
		failed.Source, failed.Gold = cases.FromCorrection, []string{f.Correction}
	}
	c, err := s.Cases.RecordFailure(ctx, ws, failed)
	out.Case = &c
	if err == nil {
		s.LearnEarly(ctx, ws)
	}
	return out, err
}

// What is not left until night: so many failures since the last round, and so many
// live decisions whose outcome is known since the last update.
const (
	manyFailures = 20
	manyJudged   = 64
)

// LearnEarly starts a round, or an update of the policy, when much is new. What
// somebody said is noted whether or not this succeeds: the night finds it.
func (s *Service) LearnEarly(ctx context.Context, ws int64) {
	of, err := s.Store.Self(ctx, ws)
	if err == nil {
		_, err = s.Rounds.AcceptDue(ctx, s.due(ws, of.Key, manyFailures))
	}
	if err == nil {
		_, err = s.Updates.AcceptDue(ctx, s.due(ws, of.Key, manyJudged))
	}
	if err != nil {
		s.Log.Warn("nothing could be learnt early; it will be at night", "workspace", ws, "error", err)
	}
}

func (s *Service) due(ws int64, workspaceKey string, least int) runspec.Due {
	return runspec.Due{Workspace: ws, WorkspaceKey: workspaceKey, Spec: s.Spec(), Least: least}
}

// turnOf fills in what a turn was asked and what it answered.
func (s *Service) turnOf(ctx context.Context, ws int64, f Input, into *cases.FailedQuestion) error {
	answer, err := s.Answers.Answer(ctx, ws, f.Conversation, f.MessageID)
	if err != nil {
		return err
	}
	if answer.Status != conversation.StatusEnded {
		return fault.New(fault.Unavailable, fmt.Sprintf("message %q is being answered still", f.MessageID),
			"wait for the answer, then rate it")
	}
	id, c, err := s.Store.Transcript(ctx, ws, f.Conversation, answer.ReplySeq)
	if err != nil {
		return err
	}
	into.Conversation = id
	for _, m := range c.Messages {
		if m.ID == f.MessageID {
			into.Question = m.Content
		}
	}
	into.Prediction, into.Run = answer.Reply, answer.Run
	return nil
}

// Missed makes a hard case of a question that memory had nothing for, where
// memories are built with the skills that could do better.
func (s *Service) Missed(ctx context.Context, q memoryagent.Question, a memoryagent.Answer) error {
	chosen, err := s.Store.Settings(ctx, q.Workspace)
	if err != nil || chosen.Memory.Builder != settings.BuilderSkills || len([]rune(q.Query)) > longestQuestion {
		return err
	}
	op := q.ID
	if op == "" {
		op = uuid.NewString() // each time that it is asked is a failure of its own
	}
	_, err = s.Cases.RecordFailure(ctx, q.Workspace,
		cases.FailedQuestion{Op: "retrieve/" + op + "/" + cases.Key(q.Query), Source: cases.FromRetrieval,
			Question: q.Query, Prediction: a.Text, Run: a.Run})
	if err == nil {
		s.LearnEarly(ctx, q.Workspace)
	}
	return err
}

// longestQuestion is what a case holds, in characters.
const longestQuestion = 2000
