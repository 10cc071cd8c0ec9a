package learning

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
)

// remember asks the model about one span: skills and memories are shown, actions
// come back. contents are those of the shown memories that are still there.
func (s *Service) remember(ctx context.Context, ref run.Ref, m Model, step, lang string, span executor.Span, skills []memoryskill.Skill, shown []string, contents map[string]string) (actions []executor.Action, outcome executor.Outcome, err error) {
	material := prompt.Material{Messages: messages(span), Bank: shownSkills(skills), Language: lang}
	for i, id := range shown {
		if text, there := contents[id]; there {
			material.Stored = append(material.Stored, prompt.Stored{Handle: fmt.Sprintf("%s%d", executor.HandlePrefix, i), Content: memory.WithoutData(text)})
		}
	}
	_, _, err = s.ask(ctx, ref, m, question{step: step, stage: prompt.Remember, lang: lang, material: material, decode: func(text string) error {
		actions, outcome = executor.Decode(text)
		if outcome == executor.ParseError {
			return errors.New("the actions cannot be read: answer with one JSON object that has actions, each with a type and what it needs")
		}
		return nil
	}})
	return actions, outcome, err
}

// messages are a span as a model reads it: who said what and when.
func messages(span executor.Span) (out []prompt.Message) {
	for _, p := range span.Parts {
		m := prompt.Message{Index: p.Seq, Role: p.Role, Name: p.Speaker, Content: memory.WithoutData(p.Text)}
		if !p.Time.IsZero() {
			m.Content = p.Time.UTC().Format("[2006-01-02 15:04] ") + m.Content
		}
		out = append(out, m)
	}
	return out
}

func shownSkills(skills []memoryskill.Skill) (out []prompt.MemorySkill) {
	for _, k := range skills {
		out = append(out, prompt.MemorySkill{Name: k.Name, Action: string(k.Action), Description: k.Description, Purpose: k.Purpose, WhenToUse: k.WhenToUse, HowToApply: k.HowToApply, Constraints: k.Constraints})
	}
	return out
}
