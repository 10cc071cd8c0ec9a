package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/internal/eval/locomo"
	"cairn/internal/eval/loopbench"
	"cairn/internal/eval/samples"
	"cairn/internal/llm"
)

// locomoFlags are what `cairn eval locomo` is told.
type locomoFlags struct {
	data      string
	judge     string
	baselines []string
	options   loopbench.Options
}

func (c *cli) evalLocomo() *cobra.Command {
	f := locomoFlags{options: loopbench.DefaultOptions()}
	f.options.Folds, f.options.Seeds = 1, 1
	names := strings.Join(slices.Sorted(maps.Keys(loopbench.Names)), ", ")
	cmd := &cobra.Command{
		Use: "locomo", Short: "Measure what memory skills keep of LoCoMo's conversations, beside baselines by name",
		Long: "Measure memory skills on LoCoMo, in memory, without a database. Skills and policy learn on the other conversations and\n" +
			"are tested on one. The rules that work offline keep the memories and propose the edits; the configured model answers,\n" +
			"and one may judge the answers.",
		Example: "  cairn eval locomo --data locomo10.json --baseline static --baseline none --limit 20",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.runEvalLocomo(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", "a file of snap-research/locomo's format (default locomo/locomo8.json under $CAIRN_DATA, else ../shared/data)")
	flags.StringArrayVar(&f.baselines, "baseline", nil, "what to measure, again for each: "+names+" (default all of them)")
	flags.IntVar(&f.options.Limit, "limit", 0, "questions of a conversation at most (default all)")
	flags.IntVar(&f.options.Folds, "conversations", f.options.Folds, "conversations to test on")
	flags.IntVar(&f.options.Seeds, "seeds", f.options.Seeds, "trainings of each, averaged")
	flags.StringVar(&f.judge, "judge", "", "model that judges the answers (default none)")
	return cmd
}

func (c *cli) runEvalLocomo(ctx context.Context, f locomoFlags) error {
	for _, name := range f.baselines {
		row, there := loopbench.Names[name]
		if !there {
			return usageError{fmt.Errorf("--baseline %s is unknown; use one of %s", name, strings.Join(slices.Sorted(maps.Keys(loopbench.Names)), ", "))}
		}
		f.options.Rows = append(f.options.Rows, row)
	}
	if f.options.Folds < 1 || f.options.Seeds < 1 || f.options.Limit < 0 {
		return usageError{fmt.Errorf("--conversations and --seeds are 1 or more, --limit 0 or more")}
	}
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	if cfg.Offline() {
		if f.judge != "" {
			return usageError{fmt.Errorf("--judge needs a model: the offline rules cannot judge answers; set OPENAI_API_KEY or OPENAI_BASE_URL")}
		}
		fmt.Fprintln(c.errs, "model: offline rules")
	} else {
		endpoint := llm.Config{BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, Structured: cfg.Structured, Timeout: cfg.Timeout}
		if err := endpoint.Validate(); err != nil {
			return err
		}
		f.options.Answers = &loopbench.Answering{Model: llm.OpenAI(endpoint), Name: cfg.Model, Judge: f.judge}
	}
	if f.data == "" {
		if f.data = samples.Public("locomo/locomo8.json"); f.data == "" {
			return usageError{fmt.Errorf("there is no LoCoMo file on this machine: name one with --data")}
		}
	}
	talks, err := locomo.Open(f.data)
	if err != nil {
		return err
	}
	f.options.Log = func(format string, args ...any) { fmt.Fprintf(c.errs, format+"\n", args...) }
	tables, err := loopbench.MeasureAll(ctx, loopbench.Data{Talks: talks}, f.options)
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
