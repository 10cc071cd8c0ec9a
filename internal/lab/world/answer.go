package world

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// Answering configures the models that answer questions and judge answers.
type Answering struct {
	Model llm.Model
	Name  string
	Judge string // model name of the judge; empty disables judging
}

// answer answers and scores the questions. A question without memories is a wrong answer, without a
// model call.
func (a *Answering) answer(ctx context.Context, t *trace, p *episodeResult) error {
	for i, q := range t.questions {
		one := &p.questions[i]
		one.judged = a.Judge != ""
		if len(one.read) == 0 {
			continue
		}
		var reply struct{ Answer string }
		if err := a.ask(ctx, prompt.Recite, a.Name,
			prompt.Material{Question: q.text, Memories: one.read, Language: "en"}, &reply); err != nil {
			return fmt.Errorf("answer %s: %w", q.key, err)
		}
		one.f1 = q.scored(reply.Answer)
		if a.Judge == "" {
			continue
		}
		if err := a.grade(ctx, q, reply.Answer, one); err != nil {
			return fmt.Errorf("judge the answer to %s: %w", q.key, err)
		}
	}
	return nil
}

// grade judges an answer. If the judge returns anything but 0, 0.5 or 1, the answer is not judged;
// it does not score 0.
func (a *Answering) grade(ctx context.Context, q question, answer string, one *questionResult) error {
	gold := q.any
	if len(gold) == 0 {
		gold = []string{q.gold}
	}
	cases, err := json.Marshal([]map[string]any{{"gold": gold, "prediction": answer}})
	if err != nil {
		return err
	}
	reply := struct{ Score float64 }{-1}
	if err := a.ask(ctx, prompt.Grade, a.Judge, prompt.Material{Question: q.text, Cases: cases, Language: "en"},
		&reply); err != nil {
		return err
	}
	if one.judged = reply.Score == 0 || reply.Score == 0.5 || reply.Score == 1; one.judged {
		one.judge = reply.Score
	}
	return nil
}

// ask makes one model call. If the reply cannot be parsed, into does not change. An endpoint
// failure is an error, because incomplete rows are not comparable.
func (a *Answering) ask(ctx context.Context, stage prompt.Stage, name string, m prompt.Material, into any) error {
	system, err := prompt.Instructions(stage, "en")
	if err != nil {
		return err
	}
	user, err := prompt.User(m)
	if err != nil {
		return err
	}
	prepared, err := a.Model.Prepare(llm.Request{Model: name, System: system, Messages: llm.User(user),
		Schema:      &llm.Schema{Name: stage.Schema(), JSON: prompt.Schema(stage)},
		Temperature: new(0.0), Label: llm.Label{Stage: string(stage)}})
	if err != nil {
		return err
	}
	reply, err := a.Model.Send(ctx, prepared)
	if err != nil {
		return err
	}
	if raw, err := llm.ExtractJSON(reply.Text); err == nil {
		_ = json.Unmarshal(raw, into) // an invalid reply counts as no answer
	}
	return nil
}
