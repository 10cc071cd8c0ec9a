package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// maxText bounds a text that is read from standard input, in bytes. It exceeds the limit of
// every command.
const maxText = 1 << 20

// someText requires a text: words, or - for standard input.
func someText(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(strings.Join(args, " ")) == "" {
			return usageError{fmt.Errorf("missing argument: %s, or - for standard input", what)}
		}
		return nil
	}
}

// text joins the words. A single "-" reads standard input.
func (c *cli) text(words []string) (string, error) {
	if len(words) != 1 || words[0] != "-" {
		return strings.Join(words, " "), nil
	}
	raw, err := io.ReadAll(io.LimitReader(c.in, maxText+1))
	if err != nil {
		return "", fault.Wrap(err, fault.InvalidArgument, "read standard input", "")
	}
	if len(raw) > maxText {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("standard input exceeds %d bytes", maxText),
			"send a shorter text")
	}
	return strings.TrimSpace(string(raw)), nil
}

// input opens a file that a command reads; "-" is standard input. Messages name the file
// as what, and say hint if it cannot be opened.
func (c *cli) input(file, what, hint string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.in), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "open "+what, hint)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, fault.New(fault.InvalidArgument, file+" is a folder", hint)
	}
	return f, nil
}

// withSession opens the workspace, runs fn and releases the servers.
func (c *cli) withSession(ctx context.Context, n needs, fn func(*session) error) error {
	s, err := c.open(ctx, n)
	if err != nil {
		return err
	}
	defer s.close()
	return fn(s)
}

// actor is the user of the command line. Each call returns a new operation ID, so each command is
// one operation.
func (s *session) actor() agent.Actor {
	return agent.Actor{Workspace: s.workspace.ID, Origin: agent.OriginUser, Op: "cli/" + uuid.NewString(),
		Approves: true}
}
