package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// mostText is read of a text at most, in bytes: more than any command takes.
const mostText = 1 << 20

// someText wants some text: words, or - for standard input.
func someText(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(strings.Join(args, " ")) == "" {
			return usageError{fmt.Errorf("give %s, or - for standard input", what)}
		}
		return nil
	}
}

// text is what the words say.
func (c *cli) text(words []string) (string, error) {
	if len(words) != 1 || words[0] != "-" {
		return strings.Join(words, " "), nil
	}
	raw, err := io.ReadAll(io.LimitReader(c.in, mostText+1))
	if err != nil {
		return "", fault.Wrap(err, fault.InvalidArgument, "standard input cannot be read", "")
	}
	if len(raw) > mostText {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("standard input has more than %d bytes", mostText), "")
	}
	return strings.TrimSpace(string(raw)), nil
}

// looking opens the workspace and runs fn in it.
func (c *cli) looking(ctx context.Context, n needs, fn func(*session) error) error {
	s, err := c.open(ctx, n)
	if err != nil {
		return err
	}
	defer s.close()
	return fn(s)
}

// person is who types: each command is one operation.
func (s *session) person() agent.Actor {
	return agent.Actor{Workspace: s.workspace.ID, Origin: agent.OriginUser, Op: "cli/" + uuid.NewString()}
}
