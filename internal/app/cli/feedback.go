package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/service/feedback"
)

func (c *cli) feedback() *cobra.Command {
	var f feedback.Input
	var once string
	cmd := &cobra.Command{Use: "feedback good|bad",
		Short: "Rate an answer and optionally correct it",
		Long: "Rate an answer as good or bad and optionally correct it. A bad answer becomes a hard case, from " +
			"which the designer improves the bank of memory skills. A good answer halves the failure count of its " +
			"question. If you rate a turn with --conversation and --message, the rating is also an outcome for the " +
			"memory skills that produced the memories of that turn. You have one vote on an answer: a later one " +
			"replaces it. The voter is the account of the operating system. If you send more than 20 votes within " +
			"a minute, they are kept and do not count.",
		Example: "  cairn feedback bad --question \"Where does Vera live?\" --correction Bergen\n  cairn feedback " +
			"good --question \"Where does Vera live?\"",
		Args: exactly(1, "good or bad"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Rating = args[0]
			return c.runFeedback(cmd.Context(), once, f)
		}}
	cmd.Flags().StringVar(&f.Question, "question", "", "question that was asked (required unless you rate a turn)")
	cmd.Flags().StringVar(&f.Answer, "answer", "", "answer that was given (default the reply of the rated turn)")
	cmd.Flags().StringVar(&f.Correction, "correction", "", "correct answer (default none)")
	cmd.Flags().StringVar(&f.Conversation, "conversation", "", "ID of the conversation of the rated turn (required "+
		"with --message)")
	cmd.Flags().StringVar(&f.MessageID, "message", "", "ID of the message of the rated turn (required with "+
		"--conversation)")
	cmd.Flags().StringVar(&f.Bank, "bank", "", "bank that learns from the rating (default \"default\")")
	cmd.Flags().StringVar(&once, "once", "", "idempotency key: repeated feedback with the same key is recorded "+
		"once (default a new key)")
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
			return c.printJSON(map[string]any{"question": noted.Question, "case": noted.Case, "voter": noted.Voter,
				"burst": noted.Burst})
		}
		if noted.Burst {
			fmt.Fprintln(c.out, "feedback recorded; it does not count: more than 20 answers rated within a minute")
			return nil
		}
		if noted.Case == nil {
			fmt.Fprintln(c.out, "feedback recorded")
			return nil
		}
		fmt.Fprintf(c.out, "hard case %d: %d failures\n", noted.Case.ID, noted.Case.Failures)
		return nil
	})
}
