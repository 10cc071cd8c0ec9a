package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
)

func (c *cli) chat() *cobra.Command {
	var f turnFlags
	cmd := &cobra.Command{
		Use: "chat", Short: "Chat in the terminal",
		Example: "  cat chat-lines.txt | cairn chat --conversation kitchen", Args: noArguments,
		Long: "Chat in the terminal. Each line is a message. /quit or the end of the input ends the chat. The " +
			"conversation is stored: to continue it later, pass the same --conversation. If the input is piped, " +
			"only the replies are printed.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runChat(cmd.Context(), f) },
	}
	f.add(cmd, "", "ID of the conversation (default a new one)")
	return cmd
}

func (c *cli) runChat(ctx context.Context, f turnFlags) error {
	if f.conversation == "" {
		f.conversation = "chat-" + uuid.NewString()[:8]
	}
	return c.withSession(ctx, needs{temporal: true, make: true}, func(s *session) error {
		c.offline(s)
		fmt.Fprintf(c.errs, "conversation %s; type /quit to end\n", f.conversation)
		lines, failed := c.lines(ctx)
		for {
			c.prompt()
			select {
			case <-ctx.Done():
				return nil
			case line, more := <-lines:
				if !more {
					return <-failed
				}
				if line == "/quit" {
					return nil
				}
				answered, err := s.ask(ctx, f, line)
				if err == nil {
					err = c.printAnswer(answered)
				}
				if err != nil {
					return err
				}
			}
		}
	})
}

// lines sends the non-empty lines of the input on the first channel and the result of reading on
// the second. It reads in a goroutine because a read from a terminal cannot be interrupted.
func (c *cli) lines(ctx context.Context) (<-chan string, <-chan error) {
	out, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(out)
		lines := bufio.NewScanner(c.in)
		lines.Buffer(nil, maxText)
		for lines.Scan() {
			line := strings.TrimSpace(lines.Text())
			if line == "" {
				continue
			}
			select {
			case out <- line:
			case <-ctx.Done():
				return
			}
		}
		err := lines.Err()
		if err != nil {
			err = fault.Wrap(err, fault.InvalidArgument, "read the input",
				"send messages of at most 32,000 characters")
		}
		failed <- err
	}()
	return out, failed
}

// prompt prints a prompt if the input is a terminal.
func (c *cli) prompt() {
	if c.interactive() {
		fmt.Fprint(c.errs, "> ")
	}
}
