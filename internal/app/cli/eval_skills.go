package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/samples"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/evaluation/alfworld"
	"cairn/internal/service/evaluation/hotpotqa"
	"cairn/internal/service/evaluation/locomo"
	"cairn/internal/service/evaluation/longmemeval"
)

// skillsEval is a measurement of memory skills on one data set.
type skillsEval struct {
	name, short, data, public string // public is the default path below the folder of public data sets
	example                   string
	tested                    string // unit of the test, in the plural
	measure                   func(ctx context.Context, path string, o evaluation.Options) ([]evaluation.Table, error)
	options                   evaluation.Options
	judge, path               string
	baselines                 []string
}

const skillsEvalLong = "Measure memory skills without a database. Skills and policy learn on all %s but one and " +
	"are tested on that one. The offline model extracts the memories and proposes edits. The configured model " +
	"answers the questions, and --judge names a model that judges the answers."

func (c *cli) skillsEvals() []*cobra.Command {
	return []*cobra.Command{
		c.evalSkills(skillsEval{name: "locomo",
			short: "Measure memory skills on LoCoMo conversations",
			data:  "file in the format of snap-research/locomo", public: "locomo/locomo8.json",
			tested: "conversations", example: "  cairn eval locomo --data locomo10.json --baseline static " +
				"--baseline none --limit 20\n  cairn eval locomo --data locomo10.json --baseline static --spans " +
				"turn-pair --session-workers 4", measure: measureLocomo}),
		c.evalSkills(skillsEval{name: "longmemeval",
			short:  "Measure memory skills on LongMemEval histories",
			data:   "file of LongMemEval, such as longmemeval_s.json (required)",
			tested: "histories", example: "  cairn eval longmemeval --data longmemeval_s.json --baseline static " +
				"--conversations 20",
			measure: measureSet(longmemeval.Open, evaluation.LongMemEval)}),
		c.evalSkills(skillsEval{name: "hotpotqa",
			short:  "Measure memory skills on HotpotQA paragraphs",
			data:   "file of HotpotQA, such as hotpot_dev_distractor_v1.json (required)",
			tested: "questions", example: "  cairn eval hotpotqa --data hotpot_dev_distractor_v1.json --baseline " +
				"static --spans paragraph --conversations 50",
			measure: measureSet(hotpotqa.Open, evaluation.HotpotQA)}),
		c.evalSkills(skillsEval{name: "alfworld",
			short: "Measure memory skills on ALFWorld trajectories", data: "JSON array of recorded trajectories " +
				"(required)",
			tested: "task types", example: "  cairn eval alfworld --data trajectories.json --baseline static " +
				"--conversations 6",
			measure: func(ctx context.Context, path string, o evaluation.Options) ([]evaluation.Table, error) {
				all, err := alfworld.Open(path)
				if err != nil {
					return nil, err
				}
				rate, steps := alfworld.SuccessRate(all)
				o.Log("recorded: %d trajectories, success rate %.3f, %.1f steps", len(all), rate, steps)
				return measured(ctx, all, evaluation.ALFWorld, o)
			}}),
	}
}

func measureLocomo(ctx context.Context, path string, o evaluation.Options) ([]evaluation.Table, error) {
	talks, err := locomo.Open(path)
	if err != nil {
		return nil, err
	}
	return evaluation.MeasureAll(ctx, evaluation.Data{Talks: talks}, o)
}

// measureSet opens a file of samples and measures on them.
func measureSet[T any](open func(string) ([]T, error),
	of func([]T, evaluation.Options) (evaluation.Set, error)) func(context.Context, string,
	evaluation.Options) ([]evaluation.Table, error) {
	return func(ctx context.Context, path string, o evaluation.Options) ([]evaluation.Table, error) {
		all, err := open(path)
		if err != nil {
			return nil, err
		}
		return measured(ctx, all, of, o)
	}
}

func measured[T any](ctx context.Context, all []T, of func([]T, evaluation.Options) (evaluation.Set, error),
	o evaluation.Options) ([]evaluation.Table, error) {
	set, err := of(all, o)
	if err != nil {
		return nil, err
	}
	if set.LeftOut > 0 {
		o.Log("%d are left out: no answer in the evidence, or not successful", set.LeftOut)
	}
	table, err := evaluation.MeasureSet(ctx, set, o)
	return []evaluation.Table{table}, err
}

func (c *cli) evalSkills(e skillsEval) *cobra.Command {
	e.options = evaluation.DefaultOptions()
	e.options.Folds, e.options.Seeds = 1, 1
	names := strings.Join(slices.Sorted(maps.Keys(evaluation.Names)), ", ")
	cmd := &cobra.Command{Use: e.name, Short: e.short, Long: fmt.Sprintf(skillsEvalLong, e.tested), Example: e.example,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalSkills(cmd.Context(), e) }}
	usual := ""
	if e.public != "" {
		usual = fmt.Sprintf(" (default %s in $CAIRN_DATA, else in ../shared/data)", e.public)
	}
	flags := cmd.Flags()
	flags.StringVar(&e.path, "data", "", e.data+usual)
	flags.StringArrayVar(&e.baselines, "baseline", nil,
		"baseline to measure; may be repeated: "+names+" (default all)")
	flags.IntVar(&e.options.Limit, "limit", 0, "maximum number of questions of each (default all)")
	flags.IntVar(&e.options.Folds, "conversations", e.options.Folds, "number of "+e.tested+" to test on")
	flags.IntVar(&e.options.Seeds, "seeds", e.options.Seeds, "number of trainings of each, whose results are "+
		"averaged")
	e.options.Spans = executor.DefaultSpans()
	e.options.Spans.Mode = ""
	spanFlags(cmd, &e.options.Spans, executor.FixedLength)
	fuseFlags(cmd, &e.options.Fuse, &e.options.Temperature, policy.Mean)
	flags.IntVar(&e.options.SessionWorkers, "session-workers", e.options.SessionWorkers,
		"spans processed at once; each reads the memory from before the first of them, which costs quality")
	flags.StringVar(&e.judge, "judge", "", "model that judges the answers (default none)")
	return cmd
}

func (c *cli) runEvalSkills(ctx context.Context, e skillsEval) error {
	for _, name := range e.baselines {
		row, there := evaluation.Names[name]
		if !there {
			return usageError{fmt.Errorf("unknown --baseline %q: use one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(evaluation.Names)), ", "))}
		}
		e.options.Rows = append(e.options.Rows, row)
	}
	if e.options.Folds < 1 || e.options.Seeds < 1 || e.options.Limit < 0 {
		return usageError{fmt.Errorf("invalid number: use 1 or more for --conversations and --seeds, 0 or more for " +
			"--limit")}
	}
	if e.options.Spans.Mode == "" {
		e.options.Spans.Mode = executor.FixedLength
	}
	if err := e.options.Check(); err != nil {
		return err
	}
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	if cfg.Offline() {
		if e.judge != "" {
			return usageError{fmt.Errorf("--judge needs a model: set CAIRN_MODEL and OPENAI_API_KEY or " +
				"OPENAI_BASE_URL")}
		}
		fmt.Fprintln(c.errs, "model: offline rules")
	}
	if e.options.Answers, err = app.Answering(cfg, e.judge); err != nil {
		return err
	}
	if e.path == "" && e.public != "" {
		e.path = samples.Public(e.public)
	}
	if e.path == "" {
		return usageError{fmt.Errorf("no data of %s found: pass a file with --data", e.name)}
	}
	e.options.Log = func(format string, args ...any) { fmt.Fprintf(c.errs, format+"\n", args...) }
	tables, err := e.measure(ctx, e.path, e.options)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(tables)
	}
	for _, t := range tables {
		t.Print(c.out)
	}
	return nil
}
