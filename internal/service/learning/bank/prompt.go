package bank

import (
	"context"
	"fmt"
	"maps"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/prompt"
	"cairn/internal/store"
)

// Prompt is a prompt of a version of a bank.
type Prompt struct {
	Stage    prompt.Stage `json:"stage"`
	Language string       `json:"language"`
	Own      bool         `json:"own"` // replaces the built-in text
	Text     string       `json:"text"`
}

// Prompts returns the prompts that a bank can replace, with their texts in a version. Number 0 means
// the active version.
func (s *Service) Prompts(ctx context.Context, ws int64, name string, number int) (out []Prompt, err error) {
	h, err := s.At(ctx, ws, name, number)
	if err != nil {
		return nil, err
	}
	for _, stage := range prompt.Replaceable {
		for _, lang := range prompt.Languages {
			p := Prompt{Stage: stage, Language: lang}
			if p.Text, p.Own = h.Version.Prompts[memoryskill.InstructionKey(stage, lang)]; !p.Own {
				if p.Text, err = prompt.Template(stage, lang); err != nil {
					return nil, err
				}
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// SetPrompt replaces the prompt of a stage in a language, in a new version. An empty text restores
// the built-in prompt. Nothing changes if the bank has the prompt already.
func (s *Service) SetPrompt(ctx context.Context, ws int64, name string, stage prompt.Stage, lang,
	text string) (out Head, err error) {
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx store.Tx, now Head) error {
		after, err := now.Version.Prompts.With(stage, lang, text)
		if err != nil {
			return err
		}
		if maps.Equal(after, now.Version.Prompts) {
			out = now
			return nil
		}
		key := memoryskill.InstructionKey(stage, lang)
		reason := "prompt " + key
		if text == "" {
			reason = "built-in prompt " + key
		}
		out, err = s.Advance(ctx, tx, now.BankRow, Draft{Base: now.Head, Action: ActionPrompt, Bank: now.Bank,
			Policy: now.Policy, Optimizer: now.Optimizer, Prompts: &after, Reason: reason})
		if err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankPrompt, fmt.Sprintf("bank %d, %s", now.ID, reason))
	})
	return out, err
}

// promptsOf returns the prompts of a draft: its own, or those of its base.
func promptsOf(ctx context.Context, tx store.Tx, bankID int64, d Draft) (memoryskill.Prompts, error) {
	if d.Prompts != nil || d.Base == 0 {
		if d.Prompts == nil {
			return nil, nil
		}
		return *d.Prompts, nil
	}
	base, err := tx.Banks().BankVersion(ctx, bankID, d.Base)
	return base.Prompts, err
}
