package evaluation

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// Answering is who answers from what was read, and who judges the answers.
type Answering struct {
	Model llm.Model
	Name  string
	Judge string // name of the model that judges; empty judges nothing
}

// answer has the questions answered and scored. Without anything read no model is
// asked: that is a wrong answer.
func (a *Answering) answer(ctx context.Context, t *trace, p *played) error {
	for i, q := range t.questions {
		one := &p.asked[i]
		one.judged = a.Judge != ""
		if len(one.read) == 0 {
			continue
		}
		var said struct{ Answer string }
		if err := a.ask(ctx, prompt.Recite, a.Name,
			prompt.Material{Question: q.text, Memories: one.read, Language: "en"}, &said); err != nil {
			return fmt.Errorf("answer %s: %w", q.key, err)
		}
		one.f1 = q.scored(said.Answer)
		if a.Judge == "" {
			continue
		}
		if err := a.grade(ctx, q, said.Answer, one); err != nil {
			return fmt.Errorf("judge the answer to %s: %w", q.key, err)
		}
	}
	return nil
}

// grade has an answer judged. A judge that gives anything but 0, 0.5 or 1 has not
// judged: that is no 0.
func (a *Answering) grade(ctx context.Context, q question, answer string, one *asked) error {
	gold := q.any
	if len(gold) == 0 {
		gold = []string{q.gold}
	}
	cases, err := json.Marshal([]map[string]any{{"gold": gold, "prediction": answer}})
	if err != nil {
		return err
	}
	said := struct{ Score float64 }{-1}
	if err := a.ask(ctx, prompt.Grade, a.Judge, prompt.Material{Question: q.text, Cases: cases, Language: "en"},
		&said); err != nil {
		return err
	}
	if one.judged = said.Score == 0 || said.Score == 0.5 || said.Score == 1; one.judged {
		one.judge = said.Score
	}
	return nil
}

// ask makes one call. A reply that cannot be read leaves into as it is; trouble
// of the endpoint is an error, for a row with holes would be no measurement.
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
		_ = json.Unmarshal(raw, into) // what cannot be read has said nothing
	}
	return nil
}
