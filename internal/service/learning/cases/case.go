// Package cases keeps questions that memory was asked: those that it failed at, which
// a designer learns from, and those whose answers are known, which training and trials
// ask again. It takes feedback, corrections and imported conversations.
package cases

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

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
	State        string    `json:"state"` // open, resolved, or expired: it has not failed within Window
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
	return designer.Case{QueryID: c.Key, Trace: trace, Question: c.Question, Gold: c.Gold, Evidence: evidence,
		Category: c.Category, Retrieved: retrieved, Prediction: c.Prediction, Score: c.Score,
		Iteration: c.Iteration, Failures: c.Failures}
}

// Window is how long a hard case of live memory lives after its last failure:
// some thirty nightly rounds have had it then. A training counts iterations
// (designer.DefaultWindow).
const Window = 30 * 24 * time.Hour

// Open are the hard cases of a bank that have failed within the window, the latest
// first. Older ones expire.
func Open(ctx context.Context, tx Tx, bank int64, most int) ([]Case, error) {
	if _, err := tx.Cases().ExpireCases(ctx, bank, Window); err != nil {
		return nil, err
	}
	return tx.Cases().OpenCases(ctx, bank, most)
}

// Limits of a case, in runes.
const (
	maxQuestionRunes = 2000
	maxAnswerRunes   = 4000
	maxGold          = 20
)

// Key names a question, however it is spelt.
func Key(question string) string {
	plain := strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(question))), " ")
	return fmt.Sprintf("q/%x", sha256.Sum256([]byte(plain)))[:34]
}

// ByConversation are the conversations that a bank's known questions are about, ascending.
func ByConversation(ctx context.Context, tx Tx, bank int64) ([]int64, map[int64][]Case, error) {
	known, err := tx.Cases().KnownCases(ctx, bank)
	if err != nil {
		return nil, nil, err
	}
	by := map[int64][]Case{}
	for _, c := range known {
		by[c.Conversation] = append(by[c.Conversation], c)
	}
	return slices.Sorted(maps.Keys(by)), by, nil
}
