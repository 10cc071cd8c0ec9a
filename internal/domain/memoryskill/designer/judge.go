package designer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
)

// Scores of answers.
const (
	ByRecall = "recall" // share of the answer's words in the found memories; needs no model
	ByAnswer = "answer" // F1 of a short answer of a model
	ByGrade  = "grade"  // 0, 0.5 or 1, given to a short answer by a model
)

// Scores lists all scores.
var Scores = []string{ByRecall, ByAnswer, ByGrade}

// CheckScore returns an error for an unknown score.
func CheckScore(name string) error {
	if slices.Contains(Scores, name) {
		return nil
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid score %q", name), "use "+strings.Join(Scores, ", "))
}

// JudgeInput is a question with the memories that were found for it.
type JudgeInput struct {
	Ref       run.Ref
	Model     memoryskill.Model
	Step      string // ledger key
	Lang      string
	Question  string
	Gold      []string // correct answers; any of them suffices
	Retrieved []string // contents of memories
	Score     string   // one of Scores
}

// JudgeVerdict is the score of an answer.
type JudgeVerdict struct {
	Score      float64 // 0–1
	Scored     bool    // false if the endpoint failed or its reply was unusable
	Prediction string  // the answer, or the memories if none was made
}

// Judge defines how answers from memory are scored. The scores are the rewards of a training
// and the results of a comparison on held-out conversations.
//
//	verdict, err := designer.Judge(ctx, designer.JudgeInput{Question: …, Gold: …, Retrieved: …, Score:
//
// designer.ByRecall})
type Judge interface {
	Judge(ctx context.Context, in JudgeInput) (JudgeVerdict, error)
}
