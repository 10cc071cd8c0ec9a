package memory

import (
	"context"
	"fmt"

	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// PromptMemory is the memory of a workspace as a prompt shows it.
type PromptMemory struct {
	Soul        string
	SoulVersion int
	Profile     []Line
	Core        []Line
}

// Line is one entry.
type Line struct {
	ID     string
	Text   string
	Origin string // of the last change; empty for a placeholder
}

// Prompt reads the soul and the prompt memories in creation order, so that equal rows produce equal
// prompts. Dangerous text is replaced with a placeholder. Tainted entries are omitted until a
// person clears the taint.
func (k *PromptService) Prompt(ctx context.Context, ws int64) (out PromptMemory, err error) {
	err = k.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		soul, err := tx.Souls().Soul(ctx)
		if err != nil {
			return err
		}
		out.Soul, out.SoulVersion = Sanitize("soul", fmt.Sprint(soul.Version), soul.Content), soul.Version
		entries, err := tx.PromptMemory().InPrompt(ctx, memory.PromptTypes, maxEntries)
		for _, e := range entries {
			line := Line{ID: e.ID, Text: Sanitize(string(e.Type), e.ID, e.Content), Origin: e.Origin}
			if line.Text != e.Content {
				line.Origin = "" // Cairn wrote the placeholder
			}
			switch {
			case e.Tainted:
			case e.Type == memory.Profile:
				out.Profile = append(out.Profile, line)
			default:
				out.Core = append(out.Core, line)
			}
		}
		return err
	})
	return out, err
}
