// Package feedback records ratings, corrections and failed questions, so that memory skills can
// learn from them.
package feedback

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/skill"
	conversationservice "cairn/internal/service/conversation"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/library"
	"cairn/internal/service/memoryagent"
	"cairn/internal/store"
)

// Ratings of a reply.
const (
	Good = "good"
	Bad  = "bad"
)

// Input is a user's feedback about a reply: either the reply of a turn, or a reply to a question
// given as text.
type Input struct {
	Rating       string
	Correction   string // the correct reply; implies a bad rating
	Conversation string // the turn, together with MessageID
	MessageID    string
	Question     string // without a turn
	Answer       string
	Bank         string
	// Person is who votes, if the actor is a gateway that acts for its users. Empty means the actor.
	Person string
}

// Result is the effect of feedback.
type Result struct {
	Question string
	Case     *learning.Case // hard case of a bad reply, else nil
	Voter    string
	Burst    bool // the voter rated too much within a minute: the vote is stored and does not count
}

// DueRuns accepts the learning runs that are due in a workspace.
type DueRuns interface {
	AcceptDue(ctx context.Context, d bank.Due) ([]run.Run, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store   store.Workspaces
	Answers *conversationservice.Service
	Cases   *bank.Cases
	Skills  *library.Library
	Rounds  DueRuns             // evolution rounds
	Updates DueRuns             // policy updates
	Spec    func() bank.RunSpec // configuration of learning runs
	Log     *slog.Logger
}

// Service records feedback and starts learning early if there is enough of it.
type Service struct{ Ports }

// New returns a service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// personDigits is the number of digits of the hash that names a user of a gateway as a voter.
const personDigits = 20

// Note records feedback. A bad rating creates a hard case; a good one resolves it. If the feedback
// names a turn, it also scores the skills that the turn has used, and the memory skills behind the
// memories in its prompt. The voter is the actor of the context, or the person for whom it acts: its
// later vote on a reply replaces the earlier one, with its effects. Calls of a voter with the same
// op have one effect.
func (s *Service) Note(ctx context.Context, ws int64, op string, f Input) (out Result, err error) {
	if f.Correction = strings.TrimSpace(f.Correction); f.Correction != "" {
		if f.Rating == Good {
			return out, fault.New(fault.InvalidArgument, "rating \"good\" cannot have a correction",
				"omit correction, or use rating \"bad\"")
		}
		f.Rating = Bad
	}
	if f.Rating != Good && f.Rating != Bad {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid rating %q", f.Rating),
			"use \"good\" or \"bad\", or send a correction")
	}
	sender := audit.From(ctx).Voter()
	out.Voter = sender
	if f.Person != "" { // the ID itself is not stored
		out.Voter = fmt.Sprintf("person/%x", sha256.Sum256([]byte(f.Person)))[:len("person/")+personDigits]
	}
	failed := bank.FailedQuestion{
		Op:         "vote/" + out.Voter + "/" + op,
		Voter:      out.Voter,
		Sender:     sender,
		Bank:       f.Bank,
		Source:     bank.FromFeedback,
		Question:   f.Question,
		Prediction: f.Answer,
	}
	if f.MessageID != "" || f.Conversation != "" {
		if err := s.turnOf(ctx, ws, f, &failed); err != nil {
			return out, err
		}
	}
	out.Question = failed.Question
	if f.Rating == Good {
		if strings.TrimSpace(out.Question) == "" {
			return out, fault.New(fault.InvalidArgument, "missing turn or question",
				"send conversation and message_id, or question")
		}
		counts, err := s.Cases.RecordSuccess(ctx, ws,
			bank.PositiveFeedback{Op: failed.Op, Bank: f.Bank, Question: out.Question, Answer: failed.Prediction,
				Run: failed.Run, Conversation: failed.Conversation, Voter: failed.Voter, Sender: failed.Sender,
				Rated: failed.Rated})
		out.Burst = err == nil && !counts
		return out, s.apply(ctx, ws, failed.Run, skill.Pass, out.Burst, err)
	}
	if f.Correction != "" {
		failed.Source, failed.Gold = bank.FromCorrection, []string{f.Correction}
	}
	c, err := s.Cases.RecordFailure(ctx, ws, failed)
	if out.Burst = err == nil && c.ID == 0; !out.Burst {
		out.Case = &c
	}
	return out, s.apply(ctx, ws, failed.Run, library.Fail, out.Burst, err)
}

// apply lets the skills that the rated turn has used pass or fail, and starts learning early. A
// repeated call has no further effect.
func (s *Service) apply(ctx context.Context, ws int64, turn, outcome string, burst bool, err error) error {
	if err == nil && turn != "" && !burst {
		err = s.Skills.JudgeTurn(ctx, ws, turn, outcome)
	}
	if err == nil {
		s.LearnEarly(ctx, ws)
	}
	return err
}

// Thresholds of early learning: the number of failures since the last round, and the number of
// scored live decisions since the last update.
const (
	manyFailures = 20
	manyJudged   = 64
)

// LearnEarly starts an evolution round or a policy update if there are enough new outcomes. An
// error is only logged, because nightly runs process the same outcomes.
func (s *Service) LearnEarly(ctx context.Context, ws int64) {
	of, err := s.Store.Self(ctx, ws)
	if err == nil {
		_, err = s.Rounds.AcceptDue(ctx, s.due(ws, of.Key, manyFailures))
	}
	if err == nil {
		_, err = s.Updates.AcceptDue(ctx, s.due(ws, of.Key, manyJudged))
	}
	if err != nil {
		s.Log.Warn("early learning failed", "workspace", ws, "error", err)
	}
}

func (s *Service) due(ws int64, workspaceKey string, least int) bank.Due {
	return bank.Due{Workspace: ws, WorkspaceKey: workspaceKey, Spec: s.Spec(), Least: least}
}

// turnOf copies the question and the reply of a turn into the failed question.
func (s *Service) turnOf(ctx context.Context, ws int64, f Input, into *bank.FailedQuestion) error {
	answer, err := s.Answers.Answer(ctx, ws, f.Conversation, f.MessageID)
	if err != nil {
		return err
	}
	if answer.Status != conversation.StatusEnded {
		return fault.New(fault.Unavailable, fmt.Sprintf("turn of message %q is still running", f.MessageID),
			"wait for the reply, then send the feedback again")
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
	into.Prediction, into.Run, into.Rated = answer.Reply, answer.Run, bank.Turn(answer.Run)
	return nil
}

// Missed creates a hard case for a question without a memory. It does nothing if the workspace does
// not build memories with memory skills.
func (s *Service) Missed(ctx context.Context, q memoryagent.Question, a memoryagent.Answer) error {
	chosen, err := s.Store.Settings(ctx, q.Workspace)
	if err != nil || chosen.Memory.Builder != settings.BuilderSkills || len([]rune(q.Query)) > longestQuestion {
		return err
	}
	op := q.ID
	if op == "" {
		op = uuid.NewString() // each request without an operation ID is a new failure
	}
	_, err = s.Cases.RecordFailure(ctx, q.Workspace,
		bank.FailedQuestion{Op: "retrieve/" + op + "/" + bank.Key(q.Query), Source: bank.FromRetrieval,
			Question: q.Query, Prediction: a.Text, Run: a.Run})
	if err == nil {
		s.LearnEarly(ctx, q.Workspace)
	}
	return err
}

// longestQuestion is the maximum length of the question of a hard case, in runes.
const longestQuestion = 2000
