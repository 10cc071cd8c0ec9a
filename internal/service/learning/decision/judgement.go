package decision

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/run"
)

// MemoryUse is a memory that a run was shown, with a decision behind it: one of those
// that wrote it until then. It is empty where no memory skill has.
type MemoryUse struct {
	Memory   string // its id
	Decision string
	Content  string // what it said after that decision; the last one is what was shown
}

// Judgement is what is said of an answer.
type Judgement struct {
	Op       string // it counts once
	Source   string
	Run      int64 // that answered; 0 when it is not known
	Score    float64
	Question string
	Answer   string
}

// RecordJudgement counts what is said of an answer, 0 or 1, for the skills behind the
// memories that it was given from: each decision once, however many of its memories
// were met. For the decisions behind what the answer cites it is an outcome that
// their policy may learn from. An answer that an endpoint's failure cut off is
// nobody's doing.
func RecordJudgement(ctx context.Context, tx Tx, j Judgement) error {
	if j.Run == 0 {
		return nil
	}
	answered, err := tx.Runs().Run(ctx, j.Run)
	if err != nil || answered.Outcome == run.Failed {
		return err
	}
	uses, err := tx.Decisions().MemoryUses(ctx, j.Run)
	if err != nil {
		return err
	}
	if err := tx.Outcomes().PutOutcomes(ctx, Cited(uses, j.Question, j.Answer),
		Outcome{Op: j.Op, Run: j.Run, Source: j.Source, Score: j.Score}); err != nil {
		return err
	}
	var decisions []string
	for _, m := range uses {
		decisions = append(decisions, m.Decision)
	}
	return CountScore(ctx, tx, decisions, j.Score)
}

// Cited are the decisions behind the memories that an answer names, or takes words
// from that the question did not have; behind all that were shown when it does so
// with none.
func Cited(uses []MemoryUse, question, answer string) (decisions []string) {
	said := map[string]bool{} // that the answer adds to the question
	for _, w := range lexical.Words(answer) {
		said[w] = !lexical.IsStopword(w)
	}
	for _, w := range lexical.Words(question) {
		said[w] = false
	}
	shown := map[string]string{} // by memory
	for _, m := range uses {
		shown[m.Memory] = m.Content
	}
	cites := map[string]bool{}
	for id, content := range shown {
		cites[id] = strings.Contains(answer, id) ||
			slices.ContainsFunc(lexical.Words(content), func(w string) bool { return said[w] })
	}
	none := !slices.Contains(slices.Collect(maps.Values(cites)), true)
	for _, m := range uses {
		if m.Decision != "" && (none || cites[m.Memory]) && !slices.Contains(decisions, m.Decision) {
			decisions = append(decisions, m.Decision)
		}
	}
	return decisions
}
