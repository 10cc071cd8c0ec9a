package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/internal/app"
	"cairn/internal/app/samples"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/service/distill"
)

func (c *cli) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Distill a sample conversation into a skill",
		Example: "  cairn demo", Args: noArguments,
		Long: "Distill a sample conversation into a skill. The command starts the development stack, distills a " +
			"conversation of τ-bench with tool calls, prints the draft and the criteria that it misses, approves it, " +
			"searches for it, and suggests what to try next. The first run builds a Temporal server, which takes " +
			"2 to 5 minutes. Each run uses a new workspace unless you pass --workspace. On a terminal, the stack " +
			"runs until you press Enter.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runDemo(cmd.Context()) },
	}
}

func (c *cli) runDemo(ctx context.Context) error {
	started := time.Now()
	sample, err := intake.Read("airline-trajectory.json", bytes.NewReader(samples.Airline), intake.Options{})
	if err != nil {
		return err
	}
	conversations := sample.Conversations
	if c.workspace == "" { // a new workspace each time, so that no earlier skill changes the result
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
	c.say("2  reading a conversation of an airline's agent (τ-bench): %d messages, %d tool calls",
		len(conversations[0].Messages), calls)
	c.quote(opening(conversations[0].Messages))
	c.say("3  distilling it with %s", s.models())
	refs, err := s.accept(ctx, conversations, app.DistillSpec(s.Config, transcript.ExtractAuto), distillFlags{})
	if err != nil {
		return err
	}
	if err := s.wait(ctx, refs, c.errs); err != nil {
		return err
	}
	r, err := s.Distill.Report(ctx, refs[0])
	if err != nil {
		return err
	}
	made := createdSkill(r)
	if c.output == "json" || made == nil {
		return c.printReports(ctx, s, refs)
	}
	if err := c.showSkill(*made); err != nil {
		return err
	}
	if err := c.reviewDemo(ctx, s, made); err != nil {
		return err
	}
	c.say("8  run %s %s after %.1f s: %s", r.Run, r.Outcome, time.Since(started).Seconds(), usage(r.Usage))
	stay := s.stack != nil && s.Config.TemporalUI != "" && c.interactive()
	if stay || s.stack == nil && s.Config.TemporalUI != "" {
		fmt.Fprintf(c.out, "   workflow: %s\n", s.WorkflowLink(r.WorkflowID))
	}
	c.suggest(*made, r.Run)
	return c.openDemo(ctx, s, made.Skill, stay)
}

// openDemo prints a link that opens the skill in the web console, or how to get one if no gateway runs. If the stack
// stays, this command serves the console until the user presses Enter.
func (c *cli) openDemo(ctx context.Context, s *session, name string, stay bool) error {
	if !s.Config.ConsoleOn() {
		return nil
	}
	if !stay && (s.stack != nil || s.consoleServed(ctx) != nil) {
		home := ""
		if c.home != "" {
			home = " --home " + c.home
		}
		c.say("Open it in the web console: run `%s serve%s`, then `%s console --workspace %s%s`", c.program, home,
			c.program, c.workspace, home)
		return nil
	}
	if !stay { // another command serves the stack
		return c.printDemoLink(ctx, s, name)
	}
	l, err := s.listenLocally()
	if err != nil {
		return err
	}
	s.Config.DrainDelay, s.Config.Listen = 0, l.Addr().String() // no load balancer
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.serveGateway(ctx, l) }()
	if err := c.printDemoLink(ctx, s, name); err != nil {
		c.say("%v", err)
	}
	c.awaitEnter(ctx)
	cancel()
	return <-served
}

func (c *cli) printDemoLink(ctx context.Context, s *session, name string) error {
	link, err := s.consoleLink(ctx, []string{"read", "write", "admin"}, "skills", name)
	if err != nil {
		return err
	}
	c.say("Open the skill in the web console (the link works once, within a minute):\n   %s", link)
	return nil
}

func (c *cli) say(format string, args ...any) {
	if c.output != "json" {
		fmt.Fprintln(c.out)
		fmt.Fprintf(c.out, format, args...) // go vet checks calls of say, because format is unchanged
		fmt.Fprintln(c.out)
	}
}

func (c *cli) quote(text string) {
	if c.output == "json" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(c.out, strings.TrimRight("   │ "+line, " "))
	}
}

// opening returns the first messages of user and agent, shortened.
func opening(ms []transcript.Message) string {
	const lines, width = 4, 100
	var out []string
	for _, m := range ms {
		if m.Role != transcript.User && m.Role != transcript.Assistant || strings.TrimSpace(m.Content) == "" {
			continue
		}
		out = append(out, string(m.Role)+": "+shorten(oneLine(m.Content), width))
		if len(out) == lines {
			break
		}
	}
	return strings.Join(out, "\n")
}

func shorten(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text
}

// createdSkill returns the first task of a run that produced a skill, or nil.
func createdSkill(r distill.Report) *distill.TaskReport {
	for _, t := range r.Tasks {
		if t.Outcome == distillation.Created || t.Outcome == distillation.Updated {
			return &t
		}
	}
	return nil
}

// demoQuery is a request in users' words, for which the skill of the sample is made.
const demoQuery = "a customer wants to upgrade a reservation to business class"

// reviewDemo prints why the skill is a draft, approves it as a person would, and searches for it. A skill that is
// active already is only searched for, and one with a blocking finding waits.
func (c *cli) reviewDemo(ctx context.Context, s *session, made *distill.TaskReport) error {
	item := fmt.Sprintf("s%d", made.SkillID)
	c.say("5  judging it: each criterion gets 0 to 2 points, with a quote that must be found")
	if q := made.Quality; q != nil {
		c.quote(strings.Join(missed(*q), "\n"))
	}
	if made.Status == skill.Active {
		c.say("6  it is active: no approval is needed")
		return c.searchDemo(ctx, s)
	}
	d, err := s.ReviewInbox.Show(ctx, s.actor(), item)
	if err != nil {
		return err
	}
	for _, f := range d.Findings {
		c.quote(string(f.Severity) + ": " + f.Text)
	}
	if len(approval.Blocking(d.Findings)) > 0 {
		c.say("6  it waits for your approval: %s inbox show %s", c.program, item)
		return nil
	}
	c.say("6  approving it, because agents do not find a %s. You do this with: %s inbox approve %s", made.Status,
		c.program, item)
	out, err := s.ReviewInbox.Approve(ctx, s.actor(), item, approval.Decision{SHA: d.SHA})
	if err != nil {
		return err
	}
	c.quote(fmt.Sprintf("%s %s: %s, version %d", out.ID, out.State, out.Title, out.Version))
	made.Status = skill.Active
	return c.searchDemo(ctx, s)
}

// missed returns the score, and a line for each criterion without full points.
func missed(q skill.Quality) []string {
	out := []string{q.String()}
	for i, line := range q.Lines() {
		if q.Criteria[i].Points < skill.MaxPoints {
			out = append(out, "  "+line)
		}
	}
	return out
}

// searchDemo prints what a search for the demo's query finds.
func (c *cli) searchDemo(ctx context.Context, s *session) error {
	found, err := s.Finder.SearchSkills(ctx, s.workspace.ID, demoQuery, []skill.Status{skill.Active}, 1)
	if err != nil {
		return err
	}
	c.say("7  searching for %q", demoQuery)
	if len(found.Skills) == 0 {
		c.quote("no relevant skills found")
	}
	for _, f := range found.Skills {
		c.quote(fmt.Sprintf("%s, version %d, similarity %.2f\n%s", f.Skill.Name, f.Skill.Version, f.Cosine,
			short(f.Skill.Description)))
	}
	return nil
}

// showSkill prints the path of a SKILL.md and its text without examples and lists of files.
func (c *cli) showSkill(t distill.TaskReport) error {
	text, err := os.ReadFile(t.SkillMD)
	if err != nil {
		return fmt.Errorf("read the skill: %w", err)
	}
	const width = 160
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines := make([]string, 0, len(all))
	for _, line := range all {
		if line == "## Examples" || line == "## Tool Usage" {
			break
		}
		lines = append(lines, shorten(line, width))
	}
	c.say("4  wrote the %s %s (%d lines)\n   %s", cmp.Or(t.Status, skill.Active), t.Skill, len(all),
		relative(t.SkillMD))
	c.quote(strings.Join(lines, "\n"))
	return nil
}

// relative shortens a path below the working folder.
func relative(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// suggest prints commands to try after the demo.
func (c *cli) suggest(t distill.TaskReport, run string) {
	flags := "--workspace " + c.workspace
	if c.home != "" {
		flags += " --home " + c.home
	}
	next := [][2]string{{"read the complete skill", "skills view " + t.Skill}}
	if t.Status != skill.Active {
		next = append(next, [2]string{"see why it is a " + string(t.Status), fmt.Sprintf("inbox show s%d", t.SkillID)},
			[2]string{"approve it, so that agents find it", fmt.Sprintf("inbox approve s%d", t.SkillID)})
	}
	next = append(next, [2]string{"search for it", fmt.Sprintf("search %q", strings.ReplaceAll(t.Skill, "-", " "))},
		[2]string{"see every model call", fmt.Sprintf("runs show %s --calls", run)},
		[2]string{"chat with an agent that remembers", "chat"})
	if t.Status == skill.Active {
		next = append(next, [2]string{"archive it, if you do not want it", "skills archive " + t.Skill})
	}
	c.say("Try next")
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, n := range next {
		fmt.Fprintf(tw, "   %s\t%s %s %s\n", n[0], c.program, n[1], flags)
	}
	_ = tw.Flush()
}

// interactive reports whether a person can press keys.
func (c *cli) interactive() bool {
	in, ok := c.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// awaitEnter returns when the user presses Enter or ctx ends.
func (c *cli) awaitEnter(ctx context.Context) {
	fmt.Fprintln(c.errs, "\nThe stack is running. Press Enter to stop it.")
	enter := make(chan struct{})
	go func() { _, _ = bufio.NewReader(io.LimitReader(c.in, 1)).ReadByte(); close(enter) }()
	select {
	case <-ctx.Done():
	case <-enter:
	}
}
