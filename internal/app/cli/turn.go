package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// turnFlags are the flags of one message.
type turnFlags struct {
	conversation, message, channel, origin string
	maxTurns                               int
	wait                                   time.Duration
}

func (f *turnFlags) add(cmd *cobra.Command, conversation, usage string) {
	flags := cmd.Flags()
	flags.StringVar(&f.conversation, "conversation", conversation, usage)
	flags.StringVar(&f.channel, "channel", "chat",
		"channel, which sets the budget: voice, sms, chat or scheduled; others have the budget of sms")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "maximum steps of the turn, 1 to 50 (default the channel's budget)")
	flags.DurationVar(&f.wait, "wait", time.Minute, "how long to wait for the reply")
}

func (c *cli) turn() *cobra.Command {
	var f turnFlags
	cmd := &cobra.Command{
		Use: "turn WORDS", Short: "Send a message and print the reply",
		Long: "Send a message to a conversation and print the reply. WORDS is the message, or - for standard " +
			"input. A message is answered once: the same --message-id returns the same reply. An accepted message " +
			"is answered even if this command stops waiting.",
		Example: "  cairn turn I always sit in an aisle seat\n  cairn turn Where do I sit? --conversation trip " +
			"--message-id 17 --output json\n  cat message.txt | cairn turn -",
		Args: someText("the message"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runTurn(cmd.Context(), args, f) },
	}
	f.add(cmd, "terminal", "ID of the conversation; the first message creates it")
	cmd.Flags().StringVar(&f.message, "message-id", "", "ID of the message (default a new one)")
	cmd.Flags().StringVar(&f.origin, "origin", "user",
		"origin of the message: user, scheduled, heartbeat or subagent; only turns of a user start reviews")
	return cmd
}

func (c *cli) runTurn(ctx context.Context, args []string, f turnFlags) error {
	text, err := c.text(args)
	if err != nil {
		return err
	}
	return c.withSession(ctx, needs{temporal: true, make: true}, func(s *session) error {
		c.offline(s)
		answered, err := s.ask(ctx, f, text)
		if err != nil {
			return err
		}
		return c.printAnswer(answered)
	})
}

// ask sends a message and waits for its reply.
func (s *session) ask(ctx context.Context, f turnFlags, text string) (domainconversation.TurnStatus, error) {
	if f.message == "" {
		f.message = uuid.NewString()
	}
	waiting, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	out, err := s.Messages.SendMessage(waiting,
		conversation.Request{Workspace: s.workspace.ID, WorkspaceKey: s.workspace.Key, Conversation: f.conversation,
			Channel: f.channel, MessageID: f.message,
			Origin: f.origin, Text: text, Mode: contract.Answer, MaxTurns: f.maxTurns, Spec: app.TurnSpec(s.Config)})
	if out.Status == domainconversation.StatusEnded {
		s.awaited = []run.Ref{{Workspace: s.workspace.ID, Run: out.Run}} // earlier turns of a chat have ended
	}
	return out, err
}

// offline notes on standard error that the offline model is in use.
func (c *cli) offline(s *session) {
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
}

func (c *cli) printAnswer(a domainconversation.TurnStatus) error {
	if c.output == "json" {
		if err := c.printJSON(a); err != nil {
			return err
		}
	} else if a.Status == string(run.Ended) {
		fmt.Fprintln(c.out, a.Reply)
	}
	if a.Status != string(run.Ended) {
		return fault.New(fault.Unavailable, fmt.Sprintf("message %q is stored but not answered yet", a.MessageID),
			fmt.Sprintf("start a worker with `cairn dev`, then run `cairn conversations show %s`", a.Conversation))
	}
	return nil
}
