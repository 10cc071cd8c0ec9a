package bank

import (
	"context"
	"errors"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
)

// ExtractionInput is one span with the skills and memories for its prompt.
type ExtractionInput = executor.Input

// Executor extracts actions with a model. It implements executor.Executor.
type Executor struct{ Asker Asker }

// Execute calls the model for one span. It returns the proposed actions.
func (e Executor) Execute(ctx context.Context, in ExtractionInput) ([]executor.Action, executor.Outcome, error) {
	return Extract(ctx, e.Asker, in)
}

// Extract calls the model for one span. It returns the proposed actions.
func Extract(ctx context.Context, a Asker, in ExtractionInput) (actions []executor.Action, o executor.Outcome,
	err error) {
	material := prompt.Material{
		Messages: Messages(in.Span),
		Bank:     ShownSkills(translated(in.Skills, in.Lang)),
		Language: in.Lang,
	}
	for i, id := range in.Shown {
		if text, there := in.Contents[id]; there {
			material.Stored = append(material.Stored,
				prompt.StoredMemory{Handle: handle(i), Content: memory.WithoutData(text)})
		}
	}
	_, _, err = Ask(
		ctx,
		a,
		in.Model,
		in.Ref,
		Question{Step: in.Step, Stage: prompt.Remember, Lang: in.Lang,
			Material: material, Decode: func(text string) error {
				if actions, o = executor.Decode(text); o == executor.ParseError {
					return errors.New("the actions cannot be read: " +
						"answer with one JSON object that has actions, each with a type and what it needs")
				}
				return nil
			}},
	)
	return actions, o, err
}

// Messages returns a span as a model sees it, with role, name and time.
func Messages(span executor.Span) (out []prompt.Message) {
	for _, p := range span.Parts {
		m := prompt.Message{Index: p.Seq, Role: p.Role, Name: p.Speaker, Content: memory.WithoutData(p.Text)}
		if !p.Time.IsZero() {
			m.Content = p.Time.UTC().Format("[2006-01-02 15:04] ") + m.Content
		}
		out = append(out, m)
	}
	return out
}

// ShownSkills returns memory skills as a model sees them.
func ShownSkills(skills []memoryskill.Skill) (out []prompt.MemorySkill) {
	for _, k := range skills {
		out = append(out, prompt.MemorySkill{Name: k.Name, Action: string(k.Action), Description: k.Description,
			Purpose: k.Purpose, WhenToUse: k.WhenToUse, HowToApply: k.HowToApply, Constraints: k.Constraints})
	}
	return out
}
