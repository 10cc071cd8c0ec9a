package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/evaluation"
	banks "cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
)

func (c *cli) train() *cobra.Command {
	var r train.Request
	var traces, curve string
	var detach bool
	cmd := &cobra.Command{Use: "train", Short: "Train the policy of a bank of memory skills",
		Long: "Train the policy of a bank of memory skills on conversations with questions and known answers. With " +
			"--design, the designer also edits the bank. Every third conversation belongs to the held-out set. The " +
			"best bank and policy become active together if they answer more questions of the held-out set than " +
			"the active version, than all skills, and than the best fixed set of skills. At least 8 held-out " +
			"conversations are needed; with fewer, the result is not_enough_evidence.\n\nTo resume an interrupted " +
			"training, run the same command again. On one type of " +
			"processor, the same seed produces the same policy for every value of --parallel.\n\nThe file of " +
			"--traces is a JSON list of {\"id\", \"messages\", \"questions\": [{\"question\", \"answers\", " +
			"\"evidence\"}]}.",
		Example: "  cairn train --traces traces.json --stages 2 --iterations 3 --curve reward.svg\n  cairn train " +
			"--recipe paper --stages 1 --iterations 2\n  cairn train --spans turn-pair --fuse sim_weighted " +
			"--stages 1 --iterations 2", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.runTrain(cmd.Context(), r, traces, curve, detach)
		}}
	f := cmd.Flags()
	f.StringVar(&r.Bank, "bank", banks.Default, "name of the bank")
	f.StringVar(&traces, "traces", "", "file of traces to import before training (default none)")
	f.StringVar(&r.Recipe, "recipe", "", "training recipe: target, paper or code (default target)")
	f.IntVar(&r.Stages, "stages", 0, "number of stages (default 10)")
	f.IntVar(&r.Iterations, "iterations", 0, "iterations per stage (default 100)")
	f.IntVar(&r.Episodes, "episodes", 0, "episodes per iteration (default 4)")
	f.IntVar(&r.Parallel, "parallel", 0, "episodes at once (default 4)")
	f.StringVar(&r.Seed, "seed", "", "seed of all random draws (default 42)")
	f.StringVar(&r.Score, "score", "", "scoring: recall (needs no model), answer or grade (default recall)")
	f.Float64Var(&r.Sample, "sample", 0, "share of the questions per category that an episode asks, 0 to 1 "+
		"(default all)")
	spanFlags(cmd, &r.Keeping.Spanning, "the setting memory.spans, else fixed-length; full-session for the recipes "+
		"paper and code")
	fuseFlags(cmd, &r.Fuse, &r.Temperature, "that of the active policy")
	f.BoolVar(&r.Design, "design", false, "let the designer edit the bank after each stage")
	f.StringVar(&r.ID, "request-id", "", "ID of the training; the same ID is the same training (default a hash of "+
		"the flags)")
	f.StringVar(&curve, "curve", "", "write the reward curve to this SVG file (default none)")
	f.BoolVar(&detach, "detach", false, "return when the training is stored; a worker completes it")
	return cmd
}

// spanFlags adds the flags for splitting sessions into spans. defaultMode documents the default.
func spanFlags(cmd *cobra.Command, s *executor.Spanning, defaultMode string) {
	f, d := cmd.Flags(), executor.DefaultSpans()
	f.StringVar(&s.Mode, "spans", s.Mode, "how sessions are split into "+
		"spans: "+strings.Join(executor.Modes, ", ")+" (default "+
		defaultMode+")")
	f.IntVar(&s.Tokens, "span-tokens", d.Tokens, "tokens of a fixed-length span")
	f.IntVar(&s.Overlap, "span-overlap", d.Overlap, "tokens that a fixed-length span shares with the previous one")
}

// fuseFlags adds the flags for combining the memories near a span. defaultName documents the default.
func fuseFlags(cmd *cobra.Command, name *string, temperature *float64, defaultName string) {
	f := cmd.Flags()
	f.StringVar(name, "fuse", "", "how the policy combines the memories near a span: mean or sim_weighted "+
		"(default "+defaultName+
		")")
	f.Float64Var(temperature, "fuse-temperature", 0,
		"temperature of sim_weighted: lower values give the nearest memory more weight (default 1)")
}

func (c *cli) runTrain(ctx context.Context, r train.Request, traces, curve string, detach bool) error {
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if err := checkWritable("curve", curve); err != nil {
		return err
	}
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if traces != "" {
		if err := c.importTraces(ctx, s, r.Bank, traces); err != nil {
			return err
		}
	}
	r.Workspace, r.WorkspaceKey, r.Spec.RunSpec = s.workspace.ID, s.workspace.Key, app.EvolveSpec(s.Config)
	made, err := s.Learning.Trainings.Accept(ctx, r)
	if err != nil {
		return err
	}
	if detach {
		fmt.Fprintf(c.out, "run %s stored; to see its result, run `cairn runs show %s`\n", made.Ref.Run, made.Ref.Run)
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

// importTraces adds the traces of a JSON file to a bank.
func (c *cli) importTraces(ctx context.Context, s *session, bank, file string) error {
	in, err := c.input(file, "the traces", "pass the path of a JSON file, or - for standard input")
	if err != nil {
		return err
	}
	defer in.Close()
	raw, err := io.ReadAll(in)
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "read the traces", "")
	}
	traces, err := banks.ParseTraces(raw)
	if err != nil {
		return err
	}
	n, err := s.Learning.Cases.Import(ctx, s.workspace.ID, bank, traces)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.errs, "imported %d traces with %d questions\n", len(traces), n)
	return nil
}

func (c *cli) printTrained(out learning.TrainingResult) {
	active := "no new version"
	if out.Version > 0 {
		active = fmt.Sprintf("version %d", out.Version)
	}
	fmt.Fprintf(c.out, "%s: bank %s, %s, policy %.12s, best score %.4f after %d iterations\n", out.Outcome, out.Bank,
		active, out.Policy, out.Best, out.Iterations)
	if out.Verdict != "" {
		fmt.Fprintln(c.out, "  gate: "+out.Verdict)
	}
	c.printGate(out.Gate)
	if out.Outcomes.Masked > 0 {
		fmt.Fprintf(c.out, "  %d of %d outcomes masked\n", out.Outcomes.Masked, out.Outcomes.Of)
	}
	if out.Note != "" {
		fmt.Fprintln(c.out, "  "+out.Note)
	}
}

// printGate prints what a candidate was compared with, if it was.
func (c *cli) printGate(g *learning.Comparison) {
	if g == nil {
		return
	}
	for _, b := range []struct {
		name string
		with designer.Comparison
	}{{"live builds now", g.Comparison}, {"all skills", g.All}, {"the best fixed set", g.Fixed}} {
		fmt.Fprintf(c.out, "  against %s: %+.4f on %d held-out traces (lower bound %+.4f)\n", b.name, b.with.Mean,
			b.with.Traces, b.with.Lower)
	}
}

// watchTraining shows a progress bar until the training has ended.
func (c *cli) watchTraining(ctx context.Context, s *session, ref run.Ref) (learning.TrainingResult, error) {
	shown := ""
	for {
		w, err := s.Learning.Trainings.Progress(ctx, ref)
		if err != nil {
			return learning.TrainingResult{}, err
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
			return learning.TrainingResult{}, stopped{"the training", "cairn runs wait " + ref.Run}
		case <-time.After(pollInterval):
		}
	}
}

// trainingLine formats the progress of a training. The chosen mass is the probability that the policy
// gave to its choices, a measure of its confidence.
func trainingLine(w train.Progress) string {
	last := 0.0
	if n := len(w.Rewards); n > 0 {
		last = w.Rewards[n-1]
	}
	line := fmt.Sprintf("%s %d of %d iterations, reward %.3f, chosen mass "+
		"%.2f", bar(w.Done, w.Of), w.Done, w.Of, last,
		w.Choice.Mass)
	if w.Tried > 0 {
		line += fmt.Sprintf(", tried on %d of %d conversations", w.Tried, w.Trials)
	}
	if w.Outcomes.Alarming() {
		line += fmt.Sprintf(", %d of %d outcomes masked", w.Outcomes.Masked, w.Outcomes.Of)
	}
	return line
}

// barWidth is the width of a progress bar in characters.
const barWidth = 30

func bar(done, of int) string {
	full := barWidth * done / max(1, of)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// rewardCurve draws the reward of each iteration, from 0 to 1.
func rewardCurve(rewards []float64) []byte {
	points := make([]evaluation.Point, len(rewards))
	for i, r := range rewards {
		points[i] = evaluation.Point{X: float64(i), Y: r}
	}
	return evaluation.SVG(evaluation.Chart{Title: "reward", Foot: fmt.Sprintf("iteration (%d)", len(rewards)), High: 1,
		Lines: []evaluation.Line{{Points: points}}})
}

func (c *cli) evolve() *cobra.Command {
	var r train.EvolutionRequest
	cmd := &cobra.Command{Use: "evolve", Short: "Improve a bank from its hard cases",
		Long: "Let the designer edit a bank of memory skills from its hard cases. The edited bank becomes active " +
			"only if it answers more questions of the held-out set than the active bank does with the current " +
			"choice, with all its skills, and with the best fixed set of them. At least 8 held-out conversations are " +
			"needed; with fewer, the result is not_enough_evidence.",
		Example: "  cairn evolve\n  cairn evolve --bank work --output json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvolve(cmd.Context(), r) }}
	cmd.Flags().StringVar(&r.Bank, "bank", banks.Default, "name of the bank")
	cmd.Flags().StringVar(&r.Score, "score", "", "scoring: recall (needs no model), answer or grade (default recall)")
	spanFlags(cmd, &r.Keeping.Spanning, "the setting memory.spans, else "+executor.FixedLength)
	cmd.Flags().StringVar(&r.ID, "request-id", "", "ID of the round; the same ID is the same round (default a new "+
		"one)")
	return cmd
}

func (c *cli) runEvolve(ctx context.Context, r train.EvolutionRequest) error {
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	r.Workspace, r.WorkspaceKey, r.EvolutionSpec.RunSpec = s.workspace.ID, s.workspace.Key, app.EvolveSpec(s.Config)
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

// watchRound shows a progress bar until the round has ended.
func (c *cli) watchRound(ctx context.Context, s *session, ref run.Ref) (learning.Round, error) {
	shown := ""
	for {
		w, err := s.Learning.Rounds.Progress(ctx, ref)
		if err != nil {
			return learning.Round{}, err
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
			return learning.Round{}, stopped{"the round", "cairn runs wait " + ref.Run}
		case <-time.After(pollInterval):
		}
	}
}

func (c *cli) printRound(r learning.Round) error {
	if c.output == "json" {
		return c.printJSON(r)
	}
	fmt.Fprintf(c.out, "round %d: %s, from %d cases\n", r.Number, r.Outcome, len(r.Cases))
	if r.Candidate != nil {
		for _, d := range r.Candidate.Changes {
			fmt.Fprintf(c.out, "  %s %s\n", d.Kind, d.Name)
		}
	}
	c.printGate(r.Comparison)
	if r.Outcomes.Masked > 0 {
		fmt.Fprintf(c.out, "  %d of %d outcomes masked\n", r.Outcomes.Masked, r.Outcomes.Of)
	}
	if r.Note != "" {
		fmt.Fprintln(c.out, "  "+r.Note)
	}
	return nil
}
