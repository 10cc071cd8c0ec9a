package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/recording"
	"cairn/internal/app"
	"cairn/internal/app/buildinfo"
	"cairn/internal/app/samples"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/evaluation"
)

const (
	sampleData = "sample" // value of --data for the built-in conversations
	noJudge    = "none"
	maxDollars = 1e9 // of --max-cost
)

const evalMemskillLong = "Measure memory skills with the configured model. Builds extract the memories of each " +
	"conversation, search finds 20 of them for each question, and the model answers; a judge grades the answers. " +
	"Each row of the table is another choice of skills: none, static (the four primitives), all (of the seed bank), " +
	"random, best-fixed (selected on the validation conversations), refine-only, evolved (bank of the designer, " +
	"random choice), evolved+learned (the same bank with the trained policy), and \"bank NAME@VERSION\" for a bank " +
	"of the workspace. Intervals are over conversations, paired with the row static.\n\n" +
	"The evaluation has workspaces of its own, whose names begin with eval-. After a crash or Ctrl-C, run the same " +
	"command again: stored replies are used again. --estimate prints the expected calls, tokens and cost, and makes " +
	"no call.\n\n" +
	"Without a model endpoint, the offline rules answer. Such figures show that all steps work, and nothing about " +
	"memory skills with a language model."

// memskillOptions are the flags of `cairn eval memskill`.
type memskillOptions struct {
	evaluation.Request
	data, dataset, split, judge, html, record, replay string
	maxCost                                           float64
	estimate                                          bool
}

func (c *cli) evalMemskill() *cobra.Command {
	o := memskillOptions{}
	cmd := &cobra.Command{Use: "memskill", Short: "Measure memory skills on public data sets", Long: evalMemskillLong,
		Example: "  cairn eval memskill --data sample --row static --row all --row evolved+learned " +
			"--html report.html\n" +
			"  cairn eval memskill --data sample --estimate\n" +
			"  cairn eval memskill --data locomo10.json --split 0/0/1 --row none --row static --limit 1",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-cost") && !(o.maxCost > 0 && o.maxCost <= maxDollars) { // also NaN
				return usageError{fmt.Errorf("invalid --max-cost %v: use more than 0 dollars, or leave it out for no "+
					"limit", o.maxCost)}
			}
			return c.runEvalMemskill(cmd.Context(), o)
		}}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "file of the data set, or sample for built-in conversations (default for locomo "+
		"locomo/locomo8.json in $CAIRN_DATA, else in ../shared/data)")
	f.StringVar(&o.dataset, "dataset", evaluation.LoCoMo, "data set: "+strings.Join(evaluation.Datasets, ", "))
	f.StringVar(&o.split, "split", evaluation.DefaultSplit,
		"shares of training, validation and test conversations, or "+
			"a JSON file with their IDs")
	f.StringArrayVar(&o.Rows, "row", nil, "row to measure; may be repeated: "+strings.Join(evaluation.Rows, ", ")+
		", \"bank NAME@VERSION\" (default all but banks)")
	f.StringVar(&o.judge, "judge", "", "model that grades the answers, or none (default the configured model; none "+
		"for the offline rules)")
	f.IntVar(&o.Limit, "limit", 0, "maximum number of questions of each conversation (default all)")
	f.StringVar(&o.Seed, "seed", evaluation.DefaultSeed, "seed of the split and of all random draws")
	f.IntVar(&o.Keeping.K, "skills", evaluation.DefaultK, "skills for each span, except in the rows static and all")
	f.IntVar(&o.Sets, "sets", evaluation.DefaultSets, "fixed sets of skills that best-fixed selects from")
	f.IntVar(&o.Learning.Stages, "stages", evaluation.DefaultStages, "stages of a training; 10 as published")
	f.IntVar(&o.Learning.Iterations, "iterations", evaluation.DefaultIterations,
		"iterations per stage; 100 as published")
	f.IntVar(&o.Learning.Episodes, "episodes", evaluation.DefaultEpisodes, "episodes per iteration; 4 as published")
	f.StringVar(&o.Learning.Score, "score", "recall", "score of training answers: recall (needs no model) or answer")
	spanFlags(cmd, &o.Keeping.Spanning, executor.FixedLength)
	f.IntVar(&o.Parallel, "parallel", evaluation.DefaultParallel, "conversations and trainings at once")
	f.BoolVar(&o.estimate, "estimate", false, "print the expected calls, tokens and cost, and exit")
	f.Float64Var(&o.maxCost, "max-cost", 0, "stop when the calls have cost this many dollars (default no limit)")
	f.StringVar(&o.html, "html", "", "write a report to this HTML file (default none)")
	f.StringVar(&o.record, "record", "", "record the replies of the model to this file (default none)")
	f.StringVar(&o.replay, "replay", "", "use the replies of this recording instead of a model (default none)")
	f.StringVar(&o.ID, "request-id", "", "ID of the evaluation; the same ID is the same evaluation (default a hash "+
		"of the data and the options)")
	return cmd
}

// checkFlags refuses flags before the data is read.
func (o *memskillOptions) checkFlags() error {
	for _, c := range []struct {
		flag string
		n    int
	}{{"parallel", o.Parallel}, {"skills", o.Keeping.K}, {"sets", o.Sets}, {"stages", o.Learning.Stages},
		{"iterations", o.Learning.Iterations}, {"episodes", o.Learning.Episodes}} {
		if c.n < 1 {
			return usageError{fmt.Errorf("invalid --%s %d: use 1 or more", c.flag, c.n)}
		}
	}
	if o.Limit < 0 {
		return usageError{fmt.Errorf("invalid --limit %d: use 1 or more, or 0 for all questions", o.Limit)}
	}
	if o.record != "" && o.replay != "" {
		return usageError{fmt.Errorf("--record and --replay exclude each other")}
	}
	if !slices.Contains(evaluation.Datasets, o.dataset) {
		return usageError{fmt.Errorf("unknown data set %q: use %s", o.dataset, strings.Join(evaluation.Datasets, ", "))}
	}
	if o.data == sampleData && o.dataset != evaluation.LoCoMo {
		return usageError{fmt.Errorf("the built-in conversations have the form of %s, not %s: leave out --dataset, or "+
			"pass a file with --data", evaluation.LoCoMo, o.dataset)}
	}
	return cmp.Or(checkWritable("html", o.html), checkWritable("record", o.record))
}

// prepare reads the data and completes the request.
func (o *memskillOptions) prepare() (err error) {
	if err := o.checkFlags(); err != nil {
		return err
	}
	o.MaxCost = int64(math.Round(o.maxCost * 1e6))
	if o.data == "" && o.dataset == evaluation.LoCoMo {
		o.data = samples.Public("locomo/locomo8.json")
	}
	switch o.data {
	case "":
		return usageError{fmt.Errorf("no data of %s found: pass a file with --data", o.dataset)}
	case sampleData:
		o.Data, err = evaluation.Read(evaluation.LoCoMo, string(samples.Talks))
	default:
		o.Data, err = evaluation.Open(o.dataset, o.data)
	}
	if err != nil {
		return err
	}
	if strings.Contains(o.split, "/") && !strings.HasSuffix(o.split, ".json") {
		o.Split, err = evaluation.ParseSplit(o.split, o.Seed, o.Data.Samples)
		return err
	}
	raw, err := os.ReadFile(o.split)
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "cannot read the split", "pass shares such as 6/2/2, or a file")
	}
	o.Split, err = evaluation.ReadSplit(raw)
	return err
}

func (c *cli) runEvalMemskill(ctx context.Context, o memskillOptions) error {
	if err := o.prepare(); err != nil {
		return err
	}
	if err := c.useRecording(o); err != nil {
		return err
	}
	s, err := c.open(ctx, needs{temporal: !o.estimate, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if (o.record != "" || o.replay != "") && s.stack == nil && !o.estimate {
		return fault.New(fault.InvalidArgument, "--record and --replay need workers in this process",
			"stop `cairn dev` of this folder and unset TEMPORAL_ADDRESS, or set CAIRN_RECORD or CAIRN_REPLAY for the "+
				"workers")
	}
	o.Workspace, o.Spec.RunSpec, o.Revision = s.workspace.ID, app.EvolveSpec(s.Config), buildinfo.Read().String()
	switch o.judge {
	case "":
		o.Judge = o.Model.Name
	case noJudge:
	default:
		o.Judge = o.judge
	}
	plan, err := s.Evaluations.Plan(ctx, o.Request)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.errs, "model: "+s.models())
	fmt.Fprintln(c.errs, "data: "+c.describeData(o.Data, plan))
	fmt.Fprintln(c.errs, "estimate: "+estimated(plan.Estimate))
	if o.estimate {
		if c.output == "json" {
			return c.printJSON(map[string]any{"estimate": plan.Estimate, "split": plan.Split, "rows": plan.Rows})
		}
		fmt.Fprintln(c.out, estimated(plan.Estimate))
		return nil
	}
	made, err := s.Evaluations.Accept(ctx, o.Request)
	if err != nil {
		return err
	}
	s.awaited = append(s.awaited, made.Ref)
	verb := "started"
	if made.Resumed {
		verb = "continued"
	}
	fmt.Fprintf(c.errs, "evaluation %s: run %s in workspace %s\n", verb, made.Ref.Run, made.Workspace.Name)
	result, err := c.watchEvaluation(ctx, s, made.Ref)
	if err != nil {
		return err
	}
	return c.showEvaluation(o, result)
}

// checkWritable refuses a file of a flag that cannot be written, before anything is paid for its content. It
// changes no file.
func checkWritable(flag, path string) error {
	if path == "" {
		return nil
	}
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "cannot write the file of --"+flag,
			"pass a file in an existing folder, with permission to write it")
	}
	err = f.Close()
	if missing != nil {
		err = cmp.Or(err, os.Remove(path))
	}
	return err
}

// useRecording makes this process record the model, or play a recording.
func (c *cli) useRecording(o memskillOptions) error {
	if o.record != "" {
		c.environ = append(c.environ, "CAIRN_RECORD="+o.record)
	}
	if o.replay == "" {
		return nil
	}
	read, err := recording.Read(o.replay)
	if err != nil {
		return err
	}
	c.environ = append(c.environ, "CAIRN_REPLAY="+o.replay)
	cfg, err := c.load(nil)
	if err == nil && cfg.Model == "" && len(read.Models) > 0 {
		c.environ = append(c.environ, "CAIRN_MODEL="+read.Models[0])
	}
	return err
}

func (c *cli) describeData(d evaluation.Data, plan evaluation.Spec) string {
	out := fmt.Sprintf("%d conversations of %s: %d to train, %d to validate, %d to test", len(d.Samples), d.Dataset,
		len(plan.Split.Train), len(plan.Split.Validation), len(plan.Split.Test))
	if d.LeftOut > 0 {
		out += fmt.Sprintf("; %d questions left out", d.LeftOut)
	}
	return out
}

// estimated formats an estimate.
func estimated(e evaluation.Estimate) string {
	cost := "price unknown"
	if e.Priced {
		cost = settings.Dollars(e.CostMicros)
	}
	return fmt.Sprintf("%d calls (%d for training), %d tokens in, %d tokens out, %s", e.Calls, e.Training, e.Input,
		e.Output, cost)
}

// evaluationPoll is how often the progress is read, which adds up the calls of all workspaces.
const evaluationPoll = 500 * time.Millisecond

// watchEvaluation shows the progress until the evaluation has ended.
func (c *cli) watchEvaluation(ctx context.Context, s *session, ref run.Ref) (evaluation.Result, error) {
	shown, before, began := "", -1, time.Now()
	for {
		p, err := s.Evaluations.Progress(ctx, ref)
		if err != nil && ctx.Err() == nil {
			return evaluation.Result{}, err
		}
		if err == nil && p.Result != nil {
			fmt.Fprintln(c.errs)
			return *p.Result, nil
		}
		if before < 0 {
			before = p.Usage.Calls
		}
		if now := evaluationLine(p, before, time.Since(began)); err == nil && now != shown {
			fmt.Fprintf(c.errs, "\r%-*s", len(shown), now)
			shown = now
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(c.errs)
			return evaluation.Result{}, stopped{"the evaluation", "run the same command again"}
		case <-time.After(evaluationPoll):
		}
	}
}

// evaluationLine formats the progress. The time left follows from the calls since the command began.
func evaluationLine(p evaluation.Progress, before int, passed time.Duration) string {
	done, of := p.Usage.Calls, max(p.Estimate.Calls, p.Usage.Calls)
	line := fmt.Sprintf("%s %d of about %d calls, %d of %d units, cost %s", bar(done, of), done, of, p.Units, p.UnitsOf,
		p.Usage.Cost())
	if n := done - before; n > 0 && of > done {
		left := time.Duration(float64(passed) / float64(n) * float64(of-done))
		line += ", ETA " + left.Round(time.Second).String()
	}
	return line
}

// showEvaluation prints and writes a result. An incomplete one is an error.
func (c *cli) showEvaluation(o memskillOptions, r evaluation.Result) error {
	if c.output == "json" {
		if err := c.printJSON(r); err != nil {
			return err
		}
	} else if err := printEvaluation(c.out, r); err != nil {
		return err
	}
	if o.html != "" {
		page, err := r.HTML()
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.html, page, 0o644); err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "cannot write the report",
				"run the same command with another --html; nothing is paid again")
		}
	}
	switch r.Outcome {
	case run.Completed:
		return nil
	case run.OverBudget:
		return fault.New(fault.QuotaExceeded, r.Note,
			"run the same command with a higher --max-cost; stored replies are used again")
	}
	return fault.New(fault.ModelRejected, "the evaluation failed: "+r.Note,
		"run the same command again; stored replies are used again")
}

// isOffline reports whether the offline rules have answered.
func isOffline(r evaluation.Result) bool { return r.Manifest.Model.Name == llm.OfflineModel }
