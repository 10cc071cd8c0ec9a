package bank

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// Sources of cases.
const (
	FromFeedback   = "feedback"   // a user rated a reply as bad
	FromCorrection = "correction" // a user corrected a reply
	FromRetrieval  = "retrieval"  // a search found nothing
	FromImport     = "import"     // a question with a known answer
	FromTraining   = "training"   // a training episode answered badly
)

// Window is the lifetime of a live hard case after its last failure, enough for about 30 nightly
// rounds. Training counts iterations instead (designer.DefaultWindow).
const Window = 30 * 24 * time.Hour

// Open returns the hard cases of a bank that failed within the window, latest first. It marks older
// ones as expired.
func Open(ctx context.Context, tx store.Tx, bank int64, most int) ([]learning.Case, error) {
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

// Key returns the normalized key of a question.
func Key(question string) string {
	plain := strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(question))), " ")
	return fmt.Sprintf("q/%x", sha256.Sum256([]byte(plain)))[:34]
}

// ByConversation returns the conversations of a bank's questions with known answers, ascending, and
// the questions of each.
func ByConversation(ctx context.Context, tx store.Tx, bank int64) ([]int64, map[int64][]learning.Case, error) {
	known, err := tx.Cases().KnownCases(ctx, bank)
	if err != nil {
		return nil, nil, err
	}
	by := map[int64][]learning.Case{}
	for _, c := range known {
		by[c.Conversation] = append(by[c.Conversation], c)
	}
	return slices.Sorted(maps.Keys(by)), by, nil
}
