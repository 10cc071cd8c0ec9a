package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/evolution"
	"cairn/internal/service/learning/training"
)

func (c *cli) train() *cobra.Command {
	var r training.Request
	var traces, curve string
	var detach bool
	cmd := &cobra.Command{Use: "train", Short: "Train the policy of a bank, and with --design the bank, on traces " +
		"with known answers",
		Long: "Train the policy of a bank of memory skills on conversations about which there are questions with " +
			"known answers.\nThe best bank and policy come into force together, when they answer more of the " +
			"conversations that were held out, every\nthird one, than what is in force. A training that is cut off " +
			"goes on where it was: give the same\ncommand again. One seed gives one policy on one kind of " +
			"processor, whatever --parallel is.\n" +
			"FILE is a JSON list of {\"id\", \"messages\", " +
			"\"questions\": [{\"question\", \"answers\", \"evidence\"}]}.",
		Example: "  cairn train --traces traces.json --stages 2 --iterations 3 --curve reward.svg\n  cairn train " +
			"--recipe paper --stages 1 --iterations 2\n  cairn train --spans turn-pair --fuse sim_weighted --stages " +
			"1 --iterations 2", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.runTrain(cmd.Context(), r, traces, curve, detach)
		}}
	f := cmd.Flags()
	f.StringVar(&r.Bank, "bank", bank.Default, "name of the bank")
	f.StringVar(&traces, "traces", "", "file of traces to import first")
	f.StringVar(&r.Recipe, "recipe", "", "target, paper or code (default target)")
	f.IntVar(&r.Stages, "stages", 0, "stages (default 10)")
	f.IntVar(&r.Iterations, "iterations", 0, "iterations of a stage (default 100)")
	f.IntVar(&r.Episodes, "episodes", 0, "episodes of an iteration (default 4)")
	f.IntVar(&r.Parallel, "parallel", 0, "episodes at once (default 4)")
	f.StringVar(&r.Seed, "seed", "", "what all draws come of (default 42)")
	f.StringVar(&r.Score, "score", "", "recall, which asks no model, or answer (default recall)")
	f.Float64Var(&r.Sample, "sample", 0, "share of a conversation's questions that an episode asks, by category, 0 "+
		"to 1 (default all)")
	spanFlags(cmd, &r.Keeping.Spanning, "memory.spans, else fixed-length; of the recipes paper and code full-session")
	fuseFlags(cmd, &r.Fuse, &r.Temperature, "as the policy in force does")
	f.BoolVar(&r.Design, "design", false, "have the designer edit the bank after each stage")
	f.StringVar(&r.ID, "request-id", "", "id of the training; the same id is the same training (default: of the "+
		"settings)")
	f.StringVar(&curve, "curve", "", "write the curve of rewards to this SVG file")
	f.BoolVar(&detach, "detach", false, "return when the training is stored; a worker drives it to its end")
	return cmd
}

// spanFlags say how sessions are cut; usual is what an empty name means.
func spanFlags(cmd *cobra.Command, s *executor.Spanning, usual string) {
	f, d := cmd.Flags(), executor.DefaultSpans()
	f.StringVar(&s.Mode, "spans", s.Mode, "how sessions are cut: "+strings.Join(executor.Modes, ", ")+" (default "+
		usual+")")
	f.IntVar(&s.Tokens, "span-tokens", d.Tokens, "tokens of a span of fixed-length")
	f.IntVar(&s.Overlap, "span-overlap", d.Overlap, "tokens that it shares with the one before")
}

// fuseFlags say how a policy fuses the memories near a span.
func fuseFlags(cmd *cobra.Command, name *string, temperature *float64, usual string) {
	f := cmd.Flags()
	f.StringVar(name, "fuse", "", "how the policy fuses the memories near a span: mean or sim_weighted (default "+usual+
		")")
	f.Float64Var(temperature, "fuse-temperature", 0,
		"of sim_weighted: the smaller, the more the nearest memory counts (default 1)")
}

func (c *cli) runTrain(ctx context.Context, r training.Request, traces, curve string, detach bool) error {
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if traces != "" {
		raw, err := os.ReadFile(traces)
		if err != nil {
			return fmt.Errorf("read the traces: %w", err)
		}
		in, err := cases.ParseTraces(raw)
		if err != nil {
			return err
		}
		n, err := s.Learning.Cases.Import(ctx, s.workspace.ID, r.Bank, in)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.errs, "%d traces with %d questions\n", len(in), n)
	}
	r.Workspace, r.WorkspaceKey, r.Spec.Spec = s.workspace.ID, s.workspace.Key, app.EvolveSpec(s.Config)
	made, err := s.Learning.Trainings.Accept(ctx, r)
	if err != nil {
		return err
	}
	if detach {
		fmt.Fprintf(c.out, "run %d; cairn runs show %d tells what comes of it\n", made.Ref.Run, made.Ref.Run)
		return nil
	}
	out, err := c.watchTraining(ctx, s, made.Ref)
	if err != nil {
		return err
	}
	if curve != "" {
		if err := os.WriteFile(curve, rewardCurve(out.Rewards), 0o644); err != nil {
			return fmt.Errorf("write the curve: %w", err)
		}
	}
	if c.output == "json" {
		return c.printJSON(out)
	}
	c.printTrained(out)
	return nil
}

func (c *cli) printTrained(out training.Result) {
	in := "nothing new in force"
	if out.Version > 0 {
		in = fmt.Sprintf("version %d", out.Version)
	}
	fmt.Fprintf(c.out, "%s: bank %s, %s, policy %.12s, best score %.4f after %d iterations\n", out.Outcome, out.Bank,
		in, out.Policy, out.Best, out.Iterations)
	if out.Gate != nil {
		fmt.Fprintf(c.out, "  gate: %+.4f on %d held-out traces (lower bound %+.4f)\n", out.Gate.Mean, out.Gate.Traces,
			out.Gate.Lower)
	}
	if out.Outcomes.Masked > 0 {
		fmt.Fprintf(c.out, "  %d of %d outcomes masked\n", out.Outcomes.Masked, out.Outcomes.Of)
	}
	if out.Note != "" {
		fmt.Fprintln(c.out, "  "+out.Note)
	}
}

// watchTraining shows a bar until the training has ended.
func (c *cli) watchTraining(ctx context.Context, s *session, ref run.Ref) (training.Result, error) {
	shown := ""
	for {
		w, err := s.Learning.Trainings.Progress(ctx, ref)
		if err != nil {
			return training.Result{}, err
		}
		if w.Result != nil {
			fmt.Fprintln(c.errs)
			return *w.Result, nil
		}
		if now := trainingLine(w); now != shown {
			fmt.Fprintf(c.errs, "\r%-*s", len(shown), now)
			shown = now
		}
		select {
		case <-ctx.Done():
			return training.Result{}, fmt.Errorf(
				"stopped waiting; the training goes on when a worker runs: cairn runs show %d: %w", ref.Run, ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

// trainingLine is how far a training is: the share of the probability that went to
// what was chosen tells how sure the policy is.
func trainingLine(w training.Progress) string {
	last := 0.0
	if n := len(w.Rewards); n > 0 {
		last = w.Rewards[n-1]
	}
	line := fmt.Sprintf("%s %d of %d iterations, reward %.3f, chosen mass %.2f", bar(w.Done, w.Of), w.Done, w.Of, last,
		w.Choice.Mass)
	if w.Tried > 0 {
		line += fmt.Sprintf(", tried on %d of %d conversations", w.Tried, w.Trials)
	}
	if w.Outcomes.Alarming() {
		line += fmt.Sprintf(", %d of %d outcomes masked", w.Outcomes.Masked, w.Outcomes.Of)
	}
	return line
}

// barWidth is that of a progress bar, in characters.
const barWidth = 30

func bar(done, of int) string {
	full := barWidth * done / max(1, of)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// rewardCurve draws the reward of each iteration, from 0 to 1.
func rewardCurve(rewards []float64) []byte {
	const width, height, margin = 640.0, 320.0, 40.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" `+
		`font-size="12">`+"\n", width+2*margin, height+2*margin)
	for i := 0; i <= 4; i++ {
		y := margin + height*float64(i)/4
		fmt.Fprintf(&b, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#ddd"/><text x="%g" y="%g" `+
			`text-anchor="end">%.2f</text>`+"\n", margin, y, margin+width, y, margin-6, y+4, 1-float64(i)/4)
	}
	var points []string
	for i, r := range rewards {
		x := margin + width*float64(i)/float64(max(1, len(rewards)-1))
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, margin+height*(1-min(1, max(0, r)))))
	}
	fmt.Fprintf(&b, `<polyline fill="none" stroke="#1f6feb" stroke-width="2" points="%s"/>`+"\n",
		strings.Join(points, " "))
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">iteration (%d)</text>`+"\n</svg>\n", margin+width/2,
		height+2*margin-8, len(rewards))
	return []byte(b.String())
}

func (c *cli) evolve() *cobra.Command {
	var r evolution.Request
	cmd := &cobra.Command{Use: "evolve", Short: "Have the designer edit a bank from its hard cases, if that proves " +
		"better",
		Long: "Have the designer edit a bank of memory skills from its hard cases. What it proposes comes into " +
			"force only when it\nanswers more of the conversations that were held out; otherwise the bank stays as " +
			"it is.", Example: "  cairn evolve\n  cairn evolve --bank work -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvolve(cmd.Context(), r) }}
	cmd.Flags().StringVar(&r.Bank, "bank", bank.Default, "name of the bank")
	cmd.Flags().StringVar(&r.Score, "score", "", "recall, which asks no model, or answer (default recall)")
	spanFlags(cmd, &r.Keeping.Spanning, "memory.spans, else "+executor.FixedLength)
	cmd.Flags().StringVar(&r.ID, "request-id", "", "id of the round; the same id is the same round")
	return cmd
}

func (c *cli) runEvolve(ctx context.Context, r evolution.Request) error {
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	r.Workspace, r.WorkspaceKey, r.Spec.Spec = s.workspace.ID, s.workspace.Key, app.EvolveSpec(s.Config)
	made, err := s.Learning.Rounds.Accept(ctx, r)
	if err != nil {
		return err
	}
	round, err := c.watchRound(ctx, s, made.Ref)
	if err != nil {
		return err
	}
	return c.printRound(round)
}

// watchRound shows a bar until the round has ended.
func (c *cli) watchRound(ctx context.Context, s *session, ref run.Ref) (evolution.Round, error) {
	shown := ""
	for {
		w, err := s.Learning.Rounds.Progress(ctx, ref)
		if err != nil {
			return evolution.Round{}, err
		}
		if w.Round != nil {
			fmt.Fprintln(c.errs)
			return *w.Round, nil
		}
		if now := bar(w.Done, w.Of) + " " + w.Doing; now != shown {
			fmt.Fprintf(c.errs, "\r%-*s", len(shown), now)
			shown = now
		}
		select {
		case <-ctx.Done():
			return evolution.Round{}, fmt.Errorf(
				"stopped waiting; the round goes on when a worker runs: cairn runs show %d: %w", ref.Run, ctx.Err())
		case <-time.After(lookEvery):
		}
	}
}

func (c *cli) printRound(r evolution.Round) error {
	if c.output == "json" {
		return c.printJSON(r)
	}
	fmt.Fprintf(c.out, "round %d: %s, from %d cases\n", r.Number, r.Outcome, len(r.Cases))
	if r.Candidate != nil {
		for _, d := range r.Candidate.Changes {
			fmt.Fprintf(c.out, "  %s %s\n", d.Kind, d.Name)
		}
	}
	if r.Comparison != nil {
		fmt.Fprintf(c.out, "  %+.4f on %d held-out traces (lower bound %+.4f)\n", r.Comparison.Mean,
			r.Comparison.Traces, r.Comparison.Lower)
	}
	if r.Outcomes.Masked > 0 {
		fmt.Fprintf(c.out, "  %d of %d outcomes masked\n", r.Outcomes.Masked, r.Outcomes.Of)
	}
	if r.Note != "" {
		fmt.Fprintln(c.out, "  "+r.Note)
	}
	return nil
}
