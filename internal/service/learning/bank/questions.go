package bank

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
)

// ReadTokens limits the memories from which a question is answered. Without a limit, remembering
// everything would always be best.
const ReadTokens = 300

// ask asks the questions of the trace.
func (g *game) ask(ctx context.Context) error {
	var texts []string
	for _, q := range g.trace.Questions {
		texts = append(texts, q.Question)
	}
	vectors, err := g.Encoder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	out := &g.result
	for n, q := range g.trace.Questions {
		result, query := QuestionResult{Case: q.ID}, policy.Query{}
		left := ReadTokens
		for _, i := range nearest(g.items, vectors[n], g.Keeping.TopN) {
			if left -= llm.EstimateTokens(i.content); left < 0 {
				break
			}
			result.Retrieved = append(result.Retrieved, i.content)
			query.Retrieved = append(query.Retrieved, i.decisions...)
		}
		for _, seq := range q.Evidence {
			query.Evidence = append(query.Evidence, g.behind[seq]...)
		}
		if !isLost(query.Evidence, out.Episode.Lost) {
			v, err := g.judge().
				Judge(ctx, designer.JudgeInput{Ref: g.Ref, Model: g.Model, Lang: g.trace.Lang, Question: q.Question,
					Step: fmt.Sprintf("%s/question/%d", g.Step, n), Gold: q.Gold, Retrieved: result.Retrieved,
					Score: g.Score})
			if err != nil {
				return err
			}
			result.Score, result.Scored, result.Prediction = v.Score, v.Scored, v.Prediction
		}
		query.Score, query.Scored = result.Score, result.Scored
		out.Episode.Queries, out.Questions = append(out.Episode.Queries, query), append(out.Questions, result)
	}
	return nil
}

// isLost reports whether the evidence of a question is in a span that was lost to an endpoint
// failure, or unknown while spans were lost. Such a question is not scored.
func isLost(evidence, lost []string) bool {
	return len(lost) > 0 && (len(evidence) == 0 ||
		slices.ContainsFunc(evidence, func(id string) bool { return slices.Contains(lost, id) }))
}
