package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// turnFlags say where a message comes from.
type turnFlags struct {
	conversation, message, channel, origin string
	maxTurns                               int
	wait                                   time.Duration
}

func (f *turnFlags) add(cmd *cobra.Command, conversation, about string) {
	flags := cmd.Flags()
	flags.StringVar(&f.conversation, "conversation", conversation, about)
	flags.StringVar(&f.channel, "channel", "chat",
		"voice, sms, chat or scheduled: decides how long an answer may take; any other is treated as sms")
	flags.IntVar(&f.maxTurns, "max-turns", 0,
		"model responses for an answer at most, 1 to 50 (default: the channel's budget)")
	flags.DurationVar(&f.wait, "wait", time.Minute, "how long to wait for an answer")
}

func (c *cli) turn() *cobra.Command {
	var f turnFlags
	cmd := &cobra.Command{
		Use: "turn WORDS", Short: "Send one message of a conversation (- for standard input) and print the answer",
		Long: "Send one message of a conversation and print the answer. A message is answered once: the same " +
			"--message-id gives\nthe same answer at any time. What is accepted is answered, also when nobody waits " +
			"for it.",
		Example: "  cairn turn I always sit in an aisle seat\n  cairn turn Where do I sit? --conversation trip " +
			"--message-id 17 -o json\n  cat message.txt | cairn turn -",
		Args: someText("what to say"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runTurn(cmd.Context(), args, f) },
	}
	f.add(cmd, "terminal", "id of the thread; the first message makes it")
	cmd.Flags().StringVar(&f.message, "message-id", "", "id of the message (default: a fresh one)")
	cmd.Flags().StringVar(&f.origin, "origin", "user",
		"user, scheduled, heartbeat or subagent: only what a user says counts for reviews")
	return cmd
}

func (c *cli) runTurn(ctx context.Context, args []string, f turnFlags) error {
	text, err := c.text(args)
	if err != nil {
		return err
	}
	return c.looking(ctx, needs{temporal: true, make: true}, func(s *session) error {
		c.offline(s)
		answered, err := s.ask(ctx, f, text)
		if err != nil {
			return err
		}
		return c.printAnswer(answered)
	})
}

// ask sends a message and waits for its answer.
func (s *session) ask(ctx context.Context, f turnFlags, text string) (conversation.TurnStatus, error) {
	if f.message == "" {
		f.message = uuid.NewString()
	}
	waiting, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	out, err := s.Messages.SendMessage(waiting,
		conversation.Request{Workspace: s.workspace.ID, WorkspaceKey: s.workspace.Key, Conversation: f.conversation,
			Channel: f.channel, MessageID: f.message,
			Origin: f.origin, Text: text, Mode: contract.Answer, MaxTurns: f.maxTurns, Spec: app.TurnSpec(s.Config)})
	if out.Status == conversation.StatusEnded {
		s.awaited = []run.Ref{{Workspace: s.workspace.ID, Run: out.Run}} // those before it in a chat have ended
	}
	return out, err
}

// offline tells on standard error when no model answers.
func (c *cli) offline(s *session) {
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
}

func (c *cli) printAnswer(a conversation.TurnStatus) error {
	if c.output == "json" {
		if err := c.printJSON(a); err != nil {
			return err
		}
	} else if a.Status == string(run.Ended) {
		fmt.Fprintln(c.out, a.Reply)
	}
	if a.Status != string(run.Ended) {
		return fault.New(fault.Unavailable, fmt.Sprintf("message %q is stored and not answered yet", a.MessageID),
			fmt.Sprintf("it will be, when a worker runs: cairn conversations show %s", a.Conversation))
	}
	return nil
}
