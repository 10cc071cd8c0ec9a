package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/library"
)

// stateOutcome returns the command that states how a conversation ended.
func (c *cli) stateOutcome() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "outcome CONVERSATION success|failure|unknown",
		Short: "State how a conversation ended",
		Long: "State how a conversation ended for its user. The skills that its turns have used pass or fail with " +
			"it. A skill that fails three times in a row is rolled back to its last proven version, or becomes a " +
			"draft; `cairn inbox` shows it. A later distillation of the conversation uses the outcome. Unknown " +
			"withdraws your statement.",
		Example: "  cairn conversations outcome terminal success",
		Args:    exactly(2, "the conversation's ID, and success, failure or unknown"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(transcript.Verdicts(), args[1]) {
				return usageError{fmt.Errorf("invalid outcome %q: use %s", args[1],
					strings.Join(transcript.Verdicts(), ", "))}
			}
			return c.printOutcome(cmd.Context(), args[0], transcript.Statement{Outcome: transcript.Verdict(args[1]),
				Note: note})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why, in one line (default none)")
	return cmd
}

func (c *cli) printOutcome(ctx context.Context, conversation string, stated transcript.Statement) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		stated.Voter = audit.From(ctx).Voter()
		effects, err := s.Library.State(ctx, s.workspace.ID, conversation, stated)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"conversation": conversation, "voter": stated.Voter, "skills": effects})
		}
		fmt.Fprintf(c.out, "conversation %s: %s\n", conversation, stated.Outcome)
		for _, e := range effects {
			c.printEffect(e)
		}
		return nil
	})
}

func (c *cli) printEffect(e library.UseEffect) {
	fmt.Fprintf(c.out, "  skill %s version %d, %s, reliability %.2f\n", e.Skill, e.Version, e.Status, e.Eta)
	if e.Withdrawn != "" {
		fmt.Fprintf(c.out, "  %s and was withdrawn; see `cairn inbox`\n", e.Withdrawn)
	}
}

// voteSkill returns the command that rates a skill.
func (c *cli) voteSkill() *cobra.Command {
	return &cobra.Command{Use: "vote SKILL up|down|none",
		Short: "Rate the active version of a skill",
		Long: "Rate the active version of a skill. You have one vote on a version; a later one replaces it, and none " +
			"withdraws it. A vote counts like the outcome of a use.",
		Example: "  cairn skills vote " + sampleSkill + " up",
		Args:    exactly(2, "the skill's name or number, and up, down or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opinion, known := library.Opinions[args[1]]
			if !known {
				return usageError{fmt.Errorf("invalid vote %q: use up, down or none", args[1])}
			}
			return c.printVote(cmd.Context(), args[0], opinion)
		}}
}

func (c *cli) printVote(ctx context.Context, name, opinion string) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		head, _, err := s.version(ctx, name, 0)
		if err != nil {
			return err
		}
		effect, err := s.Library.Vote(ctx, s.workspace.ID, head.ID, audit.From(ctx).Voter(), opinion)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(effect)
		}
		c.printEffect(effect)
		return nil
	})
}
