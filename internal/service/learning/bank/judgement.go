package bank

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Judgement is a score of a reply.
type Judgement struct {
	Op       string // operation ID
	Source   string
	Voter    string // empty if it is not a vote
	Run      string // run of the reply; "" if unknown
	Score    float64
	Question string
	Answer   string
}

// RecordJudgement adds the score of a reply, 0 or 1, to the skills behind the memories in its
// prompt. Each decision gets it once, even with several memories. For the decisions behind the
// memories that the reply cites, the score is also an outcome from which the policy may learn. A
// reply that an endpoint failure cut off is ignored. RecordJudgement returns the decisions whose
// skills got the score.
func RecordJudgement(ctx context.Context, tx store.Tx, j Judgement) (decisions []string, err error) {
	if j.Run == "" {
		return nil, nil
	}
	answered, err := tx.Runs().Run(ctx, j.Run)
	if err != nil || answered.Outcome == run.Failed {
		return nil, err
	}
	uses, err := tx.Decisions().MemoryUses(ctx, j.Run)
	if err != nil {
		return nil, err
	}
	if err := tx.Outcomes().PutOutcomes(ctx, Cited(uses, j.Question, j.Answer),
		learning.Outcome{Op: j.Op, Run: j.Run, Source: j.Source, Score: j.Score, Voter: j.Voter}); err != nil {
		return nil, err
	}
	for _, m := range uses {
		if m.Decision != "" && !slices.Contains(decisions, m.Decision) {
			decisions = append(decisions, m.Decision)
		}
	}
	return decisions, CountScore(ctx, tx, decisions, j.Score)
}

// RetractJudgement takes back the score that RecordJudgement gave to decisions under op. What an
// update of the policy has learned from it stays.
func RetractJudgement(ctx context.Context, tx store.Tx, op string, decisions []string, score float64) error {
	if err := tx.Outcomes().DropOutcomes(ctx, op, decisions); err != nil {
		return err
	}
	return forgetScore(ctx, tx, decisions, score)
}

// Cited returns the decisions behind the memories that a reply cites: it contains their ID, or
// words of them that the question does not contain. If the reply cites none, Cited returns the
// decisions of all memories in the prompt.
func Cited(uses []learning.MemoryUse, question, answer string) (decisions []string) {
	added := map[string]bool{} // words of the reply that are not in the question
	for _, w := range lexical.Words(answer) {
		added[w] = !lexical.IsStopword(w)
	}
	for _, w := range lexical.Words(question) {
		added[w] = false
	}
	shown := map[string]string{} // by memory ID
	for _, m := range uses {
		shown[m.Memory] = m.Content
	}
	cites := map[string]bool{}
	for id, content := range shown {
		cites[id] = strings.Contains(answer, id) ||
			slices.ContainsFunc(lexical.Words(content), func(w string) bool { return added[w] })
	}
	none := !slices.Contains(slices.Collect(maps.Values(cites)), true)
	for _, m := range uses {
		if m.Decision != "" && (none || cites[m.Memory]) && !slices.Contains(decisions, m.Decision) {
			decisions = append(decisions, m.Decision)
		}
	}
	return decisions
}
