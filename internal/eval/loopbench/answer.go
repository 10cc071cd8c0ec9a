package loopbench

import (
	"context"
	"encoding/json"

	"cairn/internal/eval/score"
	"cairn/internal/llm"
	"cairn/internal/llm/offline"
	"cairn/internal/prompt"
	"cairn/schemas"
)

var model = llm.OpenAI(llm.Config{BaseURL: "http://offline/v1", Offline: true, HTTPClient: offline.Client()})

// f1 has the offline model answer from what was read, and scores the answers.
func (p *played) f1(ctx context.Context, t *trace) error {
	system, err := prompt.Instructions(prompt.Recite, "en")
	if err != nil {
		return err
	}
	for i, q := range t.questions {
		if len(p.asked[i].read) == 0 {
			continue // nothing to answer from is a wrong answer
		}
		user, err := prompt.User(prompt.Material{Question: q.text, Memories: p.asked[i].read, Language: "en"})
		if err != nil {
			return err
		}
		prepared, err := model.Prepare(llm.Request{Model: offline.ModelName, System: system, Messages: llm.User(user),
			Schema: &llm.Schema{Name: prompt.Recite.Schema(), JSON: schemas.Model(prompt.Recite.Schema())}})
		if err != nil {
			return err
		}
		reply, err := model.Send(ctx, prepared)
		if err != nil {
			return err
		}
		var said struct{ Answer string }
		if err := json.Unmarshal([]byte(reply.Text), &said); err != nil {
			return err
		}
		if q.parts {
			p.asked[i].f1 = score.F1Parts(said.Answer, q.gold)
		} else {
			p.asked[i].f1 = score.F1(said.Answer, q.gold)
		}
	}
	return nil
}
