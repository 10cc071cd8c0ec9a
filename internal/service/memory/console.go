package memory

import (
	"context"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/memory"
)

// ConsoleAct returns what to record of a change that a person makes in the web console. Changes by other ways are not
// recorded: the revisions of the memory name their author.
func ConsoleAct(ctx context.Context, action memory.Action) (audit.Action, bool) {
	if !audit.From(ctx).Console {
		return "", false
	}
	switch action {
	case memory.Replace:
		return audit.MemoryEdit, true
	case memory.Remove:
		return audit.MemoryDelete, true
	}
	return "", false
}
