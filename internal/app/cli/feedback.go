package cli

import (
	"cairn/internal/service/feedback"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) feedback() *cobra.Command {
	var f feedback.Input
	var once string
	cmd := &cobra.Command{Use: "feedback good|bad",
		Short: "Say whether an answer was good, and what would have been right",
		Long: "Say whether an answer was good, and what would have been right. A bad answer becomes a hard case, " +
			"from which the\nbank of memory skills evolves; a good one halves the failures of its question. Of a " +
			"turn both count for the memory\nskills behind what it was shown.",
		Example: "  cairn feedback bad --question \"Where does Vera live?\" --correction Bergen\n  cairn feedback " +
			"good --question \"Where does Vera live?\"",
		Args: exactly(1, "good or bad"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Rating = args[0]
			return c.runFeedback(cmd.Context(), once, f)
		}}
	cmd.Flags().StringVar(&f.Question, "question", "", "what was asked")
	cmd.Flags().StringVar(&f.Answer, "answer", "", "what was answered")
	cmd.Flags().StringVar(&f.Correction, "correction", "", "what would have been right")
	cmd.Flags().StringVar(&f.Conversation, "conversation", "", "with --message: the turn that is rated")
	cmd.Flags().StringVar(&f.MessageID, "message", "", "id of the message that was answered")
	cmd.Flags().StringVar(&f.Bank, "bank", "", "the bank that is to learn from it")
	cmd.Flags().StringVar(&once, "once", "", "a key: the same feedback under the same key counts once")
	return cmd
}

func (c *cli) runFeedback(ctx context.Context, once string, f feedback.Input) error {
	if once == "" {
		once = uuid.NewString()
	}
	return c.withBanks(ctx, func(s *session) error {
		noted, err := s.Feedback.Note(ctx, s.workspace.ID, "feedback/"+once, f)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"question": noted.Question, "case": noted.Case})
		}
		if noted.Case == nil {
			fmt.Fprintln(c.out, "noted")
			return nil
		}
		fmt.Fprintf(c.out, "case %d: answered badly %d times\n", noted.Case.ID, noted.Case.Failures)
		return nil
	})
}
