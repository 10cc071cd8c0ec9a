package learning

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/designer"
)

// Where a case comes from.
const (
	FromFeedback   = "feedback"   // somebody said that an answer was bad
	FromCorrection = "correction" // and what would have been right
	FromRetrieval  = "retrieval"  // a search found nothing
	FromImport     = "import"     // a question with a known answer
	FromTraining   = "training"   // an episode answered it badly
)

// Case is a question that memory was asked, with what is known of its answer.
// Failures is 0 of one that never failed.
type Case struct {
	ID           int64     `json:"id"`
	Bank         int64     `json:"-"`
	Key          string    `json:"key"`
	Source       string    `json:"source"`
	State        string    `json:"state"` // open, resolved, or expired: it has not failed within CaseWindow
	Question     string    `json:"question"`
	Gold         []string  `json:"gold,omitempty"`
	Evidence     []int     `json:"evidence,omitempty"` // messages of the conversation
	Category     string    `json:"category,omitempty"`
	Prediction   string    `json:"prediction,omitempty"`
	Retrieved    []string  `json:"retrieved,omitempty"` // ids of memories
	Score        float64   `json:"score"`
	Failures     int       `json:"failures"`
	Iteration    int       `json:"iteration,omitempty"`
	Conversation int64     `json:"conversation,omitempty"`
	Run          int64     `json:"run,omitempty"`
	Op           string    `json:"-"`
	FailedAt     time.Time `json:"failed_at,omitzero"` // the last time
	UpdatedAt    time.Time `json:"updated_at,omitzero"`
}

// Hard is the case as a designer's buffer holds it.
func (c Case) Hard(trace string, evidence, retrieved []string) designer.Case {
	return designer.Case{QueryID: c.Key, Trace: trace, Question: c.Question, Gold: c.Gold, Evidence: evidence, Category: c.Category, Retrieved: retrieved, Prediction: c.Prediction, Score: c.Score,
		Iteration: c.Iteration, Failures: c.Failures}
}

// CaseWindow is how long a hard case of live memory lives after its last failure:
// some thirty nightly rounds have had it then. A training counts iterations
// (designer.DefaultWindow).
const CaseWindow = 30 * 24 * time.Hour

// open are the hard cases of a bank that have failed within the window, the latest
// first. Older ones expire.
func open(ctx context.Context, tx Tx, bank int64, most int) ([]Case, error) {
	if _, err := tx.Cases().ExpireCases(ctx, bank, CaseWindow); err != nil {
		return nil, err
	}
	return tx.Cases().OpenCases(ctx, bank, most)
}

// Limits of a case, in runes.
const (
	questionRunes = 2000
	answerRunes   = 4000
	mostGold      = 20
)

// FailedQuestion is a question that was answered badly, or not at all.
type FailedQuestion struct {
	Op           string // of the call: it counts once
	Bank         string // empty is the default one
	Source       string
	Question     string
	Gold         []string
	Evidence     []int
	Prediction   string
	Retrieved    []string
	Score        float64
	Conversation int64
	Run          int64
}

// KeyOf names a question, however it is spelt.
func KeyOf(question string) string {
	plain := strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(question))), " ")
	return fmt.Sprintf("q/%x", sha256.Sum256([]byte(plain)))[:34]
}

// Note makes a hard case of a failed question, or counts one failure more, and
// counts for the skills behind the memories that a bad answer was given from. The
// same operation does so once.
func (s *Service) Note(ctx context.Context, ws int64, f FailedQuestion) (out Case, err error) {
	c, err := f.check()
	if err != nil {
		return out, err
	}
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, bankName(f.Bank))
		if err != nil {
			return err
		}
		c.Bank = head.ID
		out, err = s.noted(ctx, tx, c)
		return err
	})
	return out, err
}

// noted is Note inside a transaction. What the operation log keeps of it has no
// text: it outlives the conversation.
func (s *Service) noted(ctx context.Context, tx Tx, c Case) (out Case, err error) {
	var done struct {
		Case int64 `json:"case"`
	}
	c.Failures = 1
	err = tx.Operations().Do(ctx, c.Op, []any{"failed", c.Bank, c.Source, c.Key, c.Gold, c.Conversation}, &done, func() error {
		if c.Run != 0 && len(c.Retrieved) == 0 {
			met, err := tx.Decisions().MemoryUse(ctx, c.Run)
			if err != nil {
				return err
			}
			for _, m := range met {
				c.Retrieved = append(c.Retrieved, m.Memory)
			}
			c.Retrieved = slices.Compact(c.Retrieved)
		}
		if out, err = tx.Cases().PutCase(ctx, c); err != nil {
			return err
		}
		done.Case = out.ID
		if c.Source == FromRetrieval { // nothing was found: nothing that was found is to blame
			return nil
		}
		return s.recordJudgement(ctx, tx, judgement{op: c.Op, source: c.Source, run: c.Run, question: c.Question, answer: c.Prediction})
	})
	if err == nil && out.ID == 0 {
		out, err = tx.Cases().CaseOf(ctx, done.Case)
	}
	return out, err
}

// PositiveFeedback is a question that was answered well.
type PositiveFeedback struct {
	Op       string // of the call: it counts once
	Bank     string // empty is the default one
	Question string
	Answer   string
	Run      int64 // that answered, where it is known
}

// Succeeded takes failures from the case of a question that was answered well, if
// it has one, and counts for the skills behind the memories that the answer was
// given from. The same operation does so once.
func (s *Service) Succeeded(ctx context.Context, ws int64, p PositiveFeedback) error {
	return s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		row, found, err := tx.Banks().BankNamed(ctx, bankName(p.Bank))
		if err != nil || !found {
			return err
		}
		return tx.Operations().Do(ctx, p.Op, []any{"answered", row.ID, KeyOf(p.Question), p.Run}, new(struct{}), func() error {
			if err := tx.Cases().SucceedCase(ctx, row.ID, KeyOf(p.Question), p.Op); err != nil {
				return err
			}
			return s.recordJudgement(ctx, tx, judgement{op: p.Op, source: FromPraise, run: p.Run, score: 1, question: p.Question, answer: p.Answer})
		})
	})
}

// Cases lists the open hard cases of a bank, the latest first.
func (s *Service) Cases(ctx context.Context, ws int64, bank string, most int) (out []Case, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, bankName(bank))
		if err == nil {
			out, err = open(ctx, tx, head.ID, most)
		}
		return err
	})
	return out, err
}

func bankName(name string) string {
	if name == "" {
		return DefaultBank
	}
	return name
}

func (f FailedQuestion) check() (Case, error) {
	question := strings.TrimSpace(f.Question)
	switch {
	case question == "":
		return Case{}, fault.New(fault.InvalidArgument, "the question is empty", "say what memory was asked")
	case len([]rune(question)) > questionRunes:
		return Case{}, fault.Newf(fault.TooLarge, "the question has more than %d characters", questionRunes)
	case len(f.Gold) > mostGold || slices.ContainsFunc(f.Gold, func(g string) bool { return len([]rune(g)) > answerRunes }) || len([]rune(f.Prediction)) > answerRunes:
		return Case{}, fault.Newf(fault.TooLarge, "an answer has more than %d characters, or there are more than %d", answerRunes, mostGold)
	case f.Op == "":
		return Case{}, fault.New(fault.InvalidArgument, "a failure was noted without an operation id", "")
	}
	var gold []string
	for _, g := range f.Gold {
		if g = strings.TrimSpace(g); g != "" {
			gold = append(gold, g)
		}
	}
	return Case{Key: KeyOf(question), Source: f.Source, Question: question, Gold: gold, Evidence: f.Evidence, Prediction: strings.TrimSpace(f.Prediction), Retrieved: f.Retrieved, Score: f.Score,
		Conversation: f.Conversation, Run: f.Run, Op: f.Op}, nil
}
