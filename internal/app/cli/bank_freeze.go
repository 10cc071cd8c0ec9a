package cli

import (
	"context"

	"github.com/spf13/cobra"

	"cairn/internal/service/learning/bank"
)

// bankFreeze is the command that stops all changes of a bank.
func (c *cli) bankFreeze(name *string) *cobra.Command {
	return &cobra.Command{Use: "freeze", Short: "Keep the active version of a bank until it is unfrozen",
		Example: "  cairn bank freeze\n  cairn bank freeze --bank work", Args: noArguments,
		Long: "Freeze a bank. It keeps its active version until `cairn bank unfreeze`. Live choices use that " +
			"version without exploration, and decisions and outcomes are stored as before. Trainings, rounds of the " +
			"designer, promotions, rollbacks, imports and new prompts are refused. A run that is open ends without a " +
			"new version. The setting memory.learning.frozen stops automatic learning of all banks.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.setFrozen(cmd.Context(), *name, true) }}
}

// bankUnfreeze is the command that allows changes of a bank again.
func (c *cli) bankUnfreeze(name *string) *cobra.Command {
	return &cobra.Command{Use: "unfreeze", Short: "Let a frozen bank change again",
		Example: "  cairn bank unfreeze\n  cairn bank unfreeze --bank work", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.setFrozen(cmd.Context(), *name, false) }}
}

func (c *cli) setFrozen(ctx context.Context, name string, frozen bool) error {
	return c.changeBank(ctx, func(ctx context.Context, s *session) (bank.Head, error) {
		return s.Learning.Banks.Freeze(ctx, s.workspace.ID, name, frozen)
	})
}
