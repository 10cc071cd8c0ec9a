package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/internal/domain/fault"
)

func (c *cli) chat() *cobra.Command {
	var f turnFlags
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk in the terminal: a line is a message, /quit ends it",
		Example: "  cat chat-lines.txt | cairn chat --conversation kitchen", Args: cobra.NoArgs,
		Long: "Talk in the terminal. Each line is a message; /quit, or the end of the input, ends it. What is said " +
			"is kept: name the\nconversation again to go on with it. Piped, it prints the answers and nothing else.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runChat(cmd.Context(), f) },
	}
	f.add(cmd, "", "id of the thread (default: a new one)")
	return cmd
}

func (c *cli) runChat(ctx context.Context, f turnFlags) error {
	if f.conversation == "" {
		f.conversation = "chat-" + uuid.NewString()[:8]
	}
	return c.looking(ctx, needs{temporal: true, make: true}, func(s *session) error {
		c.offline(s)
		fmt.Fprintf(c.errs, "conversation %s; /quit ends it\n", f.conversation)
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

// lines gives the lines of the input that say something, and then whether it
// could be read to its end. They are read beside the chat: nothing interrupts a
// read from a terminal.
func (c *cli) lines(ctx context.Context) (<-chan string, <-chan error) {
	out, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(out)
		lines := bufio.NewScanner(c.in)
		lines.Buffer(nil, mostText)
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
			err = fault.Wrap(err, fault.InvalidArgument, "the input cannot be read",
				"a message has at most 32,000 characters")
		}
		failed <- err
	}()
	return out, failed
}

// prompt asks for a line where somebody can see it.
func (c *cli) prompt() {
	if f, ok := c.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(c.errs, "> ")
	}
}
