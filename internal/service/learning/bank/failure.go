package bank

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// FailedQuestion is a question with a bad reply or without one.
type FailedQuestion struct {
	Op           string // operation ID of the call
	Bank         string // empty means the default bank
	Source       string
	Question     string
	Gold         []string
	Evidence     []int
	Prediction   string
	Retrieved    []string
	Score        float64
	Conversation int64
	Run          string
	Voter        string // empty if it is not a vote
	Sender       string // who sent the vote, see Vote; empty means the voter
	Rated        string // the rated reply, see Vote; empty means the question
}

func (f FailedQuestion) check() (learning.Case, error) {
	question := strings.TrimSpace(f.Question)
	switch {
	case question == "":
		return learning.Case{}, fault.New(
			fault.InvalidArgument,
			"question is required",
			"send the question that memory was asked",
		)
	case len([]rune(question)) > maxQuestionRunes:
		return learning.Case{}, fault.Newf(fault.TooLarge, "question has more than %d characters", maxQuestionRunes)
	case len(f.Gold) > maxGold || slices.ContainsFunc(f.Gold,
		func(g string) bool { return len([]rune(g)) > maxAnswerRunes }) || len([]rune(f.Prediction)) > maxAnswerRunes:
		return learning.Case{}, fault.Newf(fault.TooLarge,
			"an answer has more than %d characters, or there are more than %d",
			maxAnswerRunes, maxGold)
	case f.Op == "":
		return learning.Case{}, fault.New(fault.InvalidArgument, "operation ID is required", "")
	}
	var gold []string
	for _, g := range f.Gold {
		if g = strings.TrimSpace(g); g != "" {
			gold = append(gold, g)
		}
	}
	return learning.Case{Key: Key(question), Source: f.Source, Question: question, Gold: gold, Evidence: f.Evidence,
		Prediction: strings.TrimSpace(f.Prediction), Retrieved: f.Retrieved, Score: f.Score,
		Conversation: f.Conversation, Run: f.Run, Op: f.Op}, nil
}

// RecordFailure creates a hard case for a failed question, or adds a failure to its case. It also
// scores the skills behind the memories of a bad reply. Calls with the same operation ID have one
// effect, and a later vote of a voter on a reply replaces the earlier one. If the vote is one of a
// burst, it has no effect, and the case is empty.
func (s *Cases) RecordFailure(ctx context.Context, ws int64, f FailedQuestion) (out learning.Case, err error) {
	c, err := f.check()
	if err != nil {
		return out, err
	}
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, OrDefault(f.Bank))
		if err != nil {
			return err
		}
		c.Bank = head.ID
		out, err = record(ctx, tx, c, learning.Vote{Voter: f.Voter, Sender: f.Sender, Rated: cmp.Or(f.Rated, c.Key)})
		return err
	})
	return out, err
}

// record is RecordFailure inside a transaction. The operation log does not store any text of it,
// because the log outlives the conversation.
func record(ctx context.Context, tx store.Tx, c learning.Case, v learning.Vote) (out learning.Case, err error) {
	var done struct {
		Case int64 `json:"case"`
	}
	c.Failures = 1
	v.Op, v.Source, v.Run, v.Conversation = c.Op, c.Source, c.Run, c.Conversation
	err = tx.Operations().Do(ctx, c.Op, []any{"failed", c.Bank, c.Source, c.Key, c.Gold, c.Conversation}, &done,
		func() error {
			return cast(ctx, tx, &v, c.Question, c.Prediction, func() error {
				if c.Run != "" && len(c.Retrieved) == 0 {
					uses, err := tx.Decisions().MemoryUses(ctx, c.Run)
					if err != nil {
						return err
					}
					for _, m := range uses {
						c.Retrieved = append(c.Retrieved, m.Memory)
					}
					c.Retrieved = slices.Compact(c.Retrieved)
				}
				if out, err = tx.Cases().PutCase(ctx, c); err != nil {
					return err
				}
				done.Case, v.Case, v.Failures = out.ID, out.ID, 1
				return nil
			})
		})
	if err == nil && out.ID == 0 && done.Case != 0 {
		out, err = tx.Cases().CaseOf(ctx, done.Case)
	}
	return out, err
}
