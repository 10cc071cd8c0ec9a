package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
	"cairn/internal/store"
)

func (c *cli) conversations() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conversations",
		Short: "List, show, cancel, end and rate conversations",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var max, messages int
	list := &cobra.Command{Use: "list", Short: "List conversations, newest first",
		Example: "  cairn conversations list --max 5", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listConversations(cmd.Context(), max) }}
	list.Flags().IntVar(&max, "max", 20, "maximum number of conversations")
	show := &cobra.Command{Use: "show CONVERSATION",
		Short:   "Show messages, counters and reviews of a conversation",
		Example: "  cairn conversations show terminal --messages 4", Args: exactly(1, "the conversation's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.showConversation(cmd.Context(), args[0], messages)
		}}
	show.Flags().IntVar(&messages, "messages", 20, "maximum number of messages, counted from the end")
	var message string
	cancel := &cobra.Command{Use: "cancel CONVERSATION",
		Short:   "Cancel the turn in progress",
		Long:    "Cancel the turn in progress. The turn ends with the text that the agent has produced so far.",
		Example: "  cairn conversations cancel terminal", Args: exactly(1, "the conversation's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.cancelTurn(cmd.Context(), args[0], message)
		}}
	cancel.Flags().StringVar(&message, "message-id", "",
		"ID of the message whose turn is canceled (default the turn in progress)")
	end := &cobra.Command{Use: "end CONVERSATION",
		Short: "End a conversation and review its remaining turns",
		Long: "End a conversation. Turns that were not reviewed yet are reviewed if the settings nudge.on_end and " +
			"nudge.every allow it. The next message continues the conversation.",
		Example: "  cairn conversations end terminal", Args: exactly(1, "the conversation's ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.endConversation(cmd.Context(), args[0]) }}
	cmd.AddCommand(list, show, cancel, end, c.stateOutcome())
	return cmd
}

func (c *cli) listConversations(ctx context.Context, max int) error {
	if max < 1 {
		return usageError{fmt.Errorf("invalid --max %d: use 1 or more", max)}
	}
	return c.withSession(ctx, needs{}, func(s *session) error {
		views, _, err := s.Explore.Conversations(ctx, s.workspace.ID, readmodel.ConversationFilter{}, "", max)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"conversations": views})
		}
		if len(views) == 0 {
			fmt.Fprintf(c.out, "no conversations in workspace %q; start one with `cairn chat`\n", s.workspace.Name)
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "CONVERSATION\tCHANNEL\tTURNS\tMESSAGES\tLAST TURN\tFIRST MESSAGE")
		for _, v := range views {
			last := ""
			if v.LastTurnAt != nil {
				last = v.LastTurnAt.Local().Format(time.DateTime)
			}
			fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\n", v.Name, v.Channel, v.Turns, v.Messages, last, short(v.Title))
		}
		return tw.Flush()
	})
}

func (c *cli) showConversation(ctx context.Context, name string, messages int) error {
	return c.withSession(ctx, needs{temporal: true}, func(s *session) error {
		detail, err := s.Conversations.Show(ctx, s.workspace, name)
		if err != nil {
			return err
		}
		detail.Link = s.WorkflowLink(detail.WorkflowID)
		lines := []conversation.Line{}
		if messages > 0 {
			err = s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) (err error) {
				lines, err = q.ConversationViews().Lines(ctx, detail.ID, detail.Messages-messages-1, messages)
				return err
			})
		}
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(struct {
				inspect.ConversationDetail
				Lines []conversation.Line `json:"transcript"`
			}{detail, lines})
		}
		return c.printConversation(detail, lines)
	})
}

func (c *cli) printConversation(d inspect.ConversationDetail, lines []conversation.Line) error {
	fmt.Fprintf(c.out, "%s · %s · %d turns, %d messages\n", d.Name, d.Channel, d.Turns, d.Messages)
	for _, l := range lines {
		for _, call := range l.ToolCalls {
			fmt.Fprintf(c.out, "  %s calls %s %s\n", l.Role, call.Name, short(oneLine(call.Arguments)))
		}
		if l.Content != "" {
			fmt.Fprintf(c.out, "  %s: %s\n", l.Role, strings.ReplaceAll(l.Content, "\n", "\n    "))
		}
	}
	k := d.Counters
	fmt.Fprintf(c.out, "\n  counted turns %d, reviewed up to turn %d; turns since the last save: memory %d, skill "+
		"%d\n",
		k.Total, k.LastReviewed, k.Memory, k.Skill)
	for _, n := range d.Nudges {
		fmt.Fprintf(c.out, "  review %s after turn %d: %s, %d steps%s\n", n.Run, n.Turn, n.Status, n.Steps,
			written(n.Writes, n.Staged))
	}
	if d.Link != "" {
		fmt.Fprintf(c.out, "  Temporal UI: %s\n", d.Link)
	}
	if d.Live != nil && d.Live.Answers != "" {
		fmt.Fprintf(c.out, "  message %s is in progress\n", d.Live.Answers)
	}
	for _, o := range d.Outcomes {
		fmt.Fprintf(c.out, "  outcome: %s, stated by %s\n", o.Outcome, o.Voter)
	}
	if d.ClosedAt != nil {
		fmt.Fprintf(c.out, "  ended %s\n", d.ClosedAt.Local().Format(time.DateTime))
	}
	return nil
}

func written(writes []run.Write, staged int) string {
	out := ""
	for _, w := range writes {
		out += fmt.Sprintf("; %s %s", w.Tool, w.Action)
		if w.Name != "" {
			out += " " + w.Name
		}
	}
	if staged > 0 {
		out += fmt.Sprintf("; pending changes: %d", staged)
	}
	return out
}

func (c *cli) cancelTurn(ctx context.Context, name, message string) error {
	return c.withSession(ctx, needs{temporal: true}, func(s *session) error {
		cancelled, err := s.Conversations.Cancel(ctx, s.workspace, name, message)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"conversation": name, "cancelled": cancelled})
		}
		if !cancelled {
			fmt.Fprintf(c.out, "conversation %s has no such turn in progress\n", name)
			return nil
		}
		fmt.Fprintf(c.out, "turn of conversation %s canceled\n", name)
		return nil
	})
}

func (c *cli) endConversation(ctx context.Context, name string) error {
	return c.withSession(ctx, needs{temporal: true}, func(s *session) error {
		detail, err := s.Conversations.End(ctx, s.workspace, name)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(detail)
		}
		fmt.Fprintf(c.out, "conversation %s ended after %d turns; the next message continues "+
			"it\n", name, detail.Turns)
		return nil
	})
}
