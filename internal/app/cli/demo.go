package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/internal/app"
	"cairn/internal/app/samples"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
)

func (c *cli) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Distil a real conversation of an airline's agent into a skill package, start to finish",
		Example: "  cairn demo", Args: cobra.NoArgs,
		Long: "Start the development stack, distil a real τ-bench conversation with tool calls into a skill " +
			"package, and say where\nto look at it: the files, the run, and the workflow in Temporal UI. On a " +
			"terminal the stack stays up until Enter.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runDemo(cmd.Context()) },
	}
}

func (c *cli) runDemo(ctx context.Context) error {
	started := time.Now()
	conversations, err := transcript.Parse("airline-trajectory.json", bytes.NewReader(samples.Airline),
		transcript.MaxInput)
	if err != nil {
		return err
	}
	if c.workspace == "" { // a workspace of its own each time: nothing is known yet, so everything is to be seen
		c.workspace = "demo-" + started.Format("20060102-150405")
	}
	c.say("1  starting Postgres, Temporal and a worker")
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	calls := 0
	for _, m := range conversations[0].Messages {
		calls += len(m.ToolCalls)
	}
	c.say("2  a conversation of an airline's agent (τ-bench): %d messages, %d tool calls; it begins",
		len(conversations[0].Messages), calls)
	c.quote(opening(conversations[0].Messages))
	c.say("3  distilling it; model: %s", s.models())
	refs, err := s.accept(ctx, conversations, app.DistillSpec(s.Config, transcript.ExtractAuto), distillFlags{})
	if err != nil {
		return err
	}
	if err := s.wait(ctx, refs, c.errs); err != nil {
		return err
	}
	if err := c.showSkill(ctx, s, refs[0]); err != nil {
		return err
	}
	c.say("5  what happened, in %.1f s from the start", time.Since(started).Seconds())
	if err := c.printReports(ctx, s, refs); err != nil {
		return err
	}
	return c.farewell(ctx, s, refs[0])
}

func (c *cli) say(format string, args ...any) {
	if c.output != "json" {
		fmt.Fprintf(c.out, "\n"+format+"\n", args...)
	}
}

func (c *cli) quote(text string) {
	if c.output == "json" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(c.out, "   │ "+line)
	}
}

// opening is the beginning of the talk between user and agent.
func opening(ms []transcript.Message) string {
	const lines, width = 4, 100
	var out []string
	for _, m := range ms {
		if m.Role != transcript.User && m.Role != transcript.Assistant || strings.TrimSpace(m.Content) == "" {
			continue
		}
		text := strings.Join(strings.Fields(m.Content), " ")
		if r := []rune(text); len(r) > width {
			text = string(r[:width]) + "…"
		}
		if out = append(out, string(m.Role)+": "+text); len(out) == lines {
			break
		}
	}
	return strings.Join(out, "\n")
}

// showSkill prints the SKILL.md that the run made.
func (c *cli) showSkill(ctx context.Context, s *session, ref run.Ref) error {
	r, err := s.Distill.Report(ctx, ref)
	if err != nil {
		return err
	}
	for _, t := range r.Tasks {
		if t.Outcome != distill.Created && t.Outcome != distill.Updated {
			continue
		}
		c.say("4  the skill %s, as an agent will read it", t.Skill)
		text, err := os.ReadFile(t.SkillMD)
		if err != nil {
			return fmt.Errorf("read the skill: %w", err)
		}
		c.quote(string(text))
	}
	return nil
}

// farewell says where to look, and keeps the stack up on a terminal.
func (c *cli) farewell(ctx context.Context, s *session, ref run.Ref) error {
	if c.output == "json" {
		return nil
	}
	r, err := s.Distill.Report(ctx, ref)
	if err != nil {
		return err
	}
	c.say("6  look at it")
	for _, t := range r.Tasks {
		if t.SkillMD != "" {
			fmt.Fprintf(c.out, "   the skill           %s\n", t.SkillMD)
		}
	}
	fmt.Fprintf(c.out, "   every model call    cairn runs show %d -w %s\n", r.Run, s.workspace.Name)
	in, ok := c.in.(*os.File)
	stay := s.stack != nil && s.Config.TemporalUI != "" && ok && term.IsTerminal(int(in.Fd()))
	switch {
	case stay:
		fmt.Fprintf(c.out, "   Temporal UI         %s\n\npress Enter to stop the stack\n", s.WorkflowLink(r.WorkflowID))
		enter := make(chan struct{})
		go func() { _, _ = bufio.NewReader(io.LimitReader(in, 1)).ReadByte(); close(enter) }()
		select {
		case <-ctx.Done():
		case <-enter:
		}
	case s.stack != nil:
		fmt.Fprintf(c.out, "   Temporal UI         run `make dev`, then open %s\n", s.WorkflowLink(r.WorkflowID))
	default:
		fmt.Fprintf(c.out, "   Temporal UI         %s\n", s.WorkflowLink(r.WorkflowID))
	}
	return nil
}
