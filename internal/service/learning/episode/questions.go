package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/ledger"
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
			if err := g.judge(ctx, n, q, &result); err != nil {
				return err
			}
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

// judge scores one question. If the endpoint fails, the question is not scored.
func (g *game) judge(ctx context.Context, n int, q cases.Case, result *QuestionResult) error {
	result.Scored = true
	if g.Score != ByAnswer {
		result.Prediction = strings.Join(result.Retrieved, "\n")
		result.Score = Recall(q.Gold, result.Prediction)
		return nil
	}
	text, problem, err := g.Model.Ask(ctx, g.Asker, g.Ref, runspec.Question{
		Step: fmt.Sprintf("%s/question/%d", g.Step, n), Stage: prompt.Recite, Lang: g.trace.Lang,
		Material: prompt.Material{Question: q.Question, Memories: result.Retrieved, Language: g.trace.Lang},
		Decode: func(text string) (err error) {
			result.Prediction, err = decodeAnswer(text)
			return err
		}})
	if _, over := ledger.IsPermanent(err); over || problem != nil || text == "" && err == nil {
		result.Scored = false
		return nil
	}
	result.Score = overlap(q.Gold, result.Prediction)
	return err
}

func decodeAnswer(text string) (string, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return "", err
	}
	var reply struct{ Answer string }
	if json.Unmarshal(raw, &reply) != nil {
		return "", errors.New("answer with one JSON object that has answer")
	}
	return reply.Answer, nil
}
