package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
)

// minGiveUp is the shortest time for a step with its retries.
const minGiveUp = time.Second

// distillFlags are the flags of one distillation.
type distillFlags struct {
	mode, gate, extract, request string
	outcome                      string
	pick, from                   int
	fresh, detach                bool
	giveUp                       time.Duration
	formatFlags
}

func (c *cli) distill() *cobra.Command {
	var f distillFlags
	cmd := &cobra.Command{
		Use:   "distill FILE",
		Short: "Distill conversations into skills",
		Long: "Distill the conversations of a file into versioned skill packages.\n\n" + formatsHelp +
			"\n\nThe same file is the same request: a repeated command returns the stored result without model " +
			"calls. To distill the file again, add --fresh.",
		Example: "  cairn distill conversation.json\n  cairn distill airline.json --pick 1 --output json\n" +
			"  cairn distill conversation.json --give-up 10m\n  cat chat.txt | cairn distill -",
		Args: exactly(1, "the file to distill"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runDistill(cmd.Context(), args[0], f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "", "extraction: full adds scripts and reference documents, simple does not "+
		"(default $SKILL_MODE, else full)")
	flags.StringVar(&f.gate, "gate", "", "gate that selects conversations: auto, memos or off (default "+
		"$SKILL_GATE, else auto)")
	flags.StringVar(&f.extract, "extract", "auto", "whether to apply the gate: auto applies it, always and never "+
		"override it")
	addOutcome(flags, &f.outcome)
	flags.StringVar(&f.request, "request-id", "",
		"ID of the request; the same ID is the same request (default a hash of the content)")
	flags.IntVar(&f.pick, "pick", -1, "distill only the conversation at this position of the file, counted from 0; "+
		"-1 means all")
	flags.IntVar(&f.from, "from", 0, "first message to distill, counted from 0; earlier messages are context only "+
		"(default 0)")
	flags.DurationVar(&f.giveUp, "give-up", 0, "time after which a step ends whose model endpoint is unavailable, for "+
		"example 10m (default 24h)")
	flags.BoolVar(&f.fresh, "fresh", false, "distill again instead of returning the stored result; repeats all "+
		"model calls")
	flags.BoolVar(&f.detach, "detach", false, "return when the requests are stored; a worker completes them")
	return cmd
}

// addOutcome adds the flag for the outcome of conversations.
func addOutcome(flags *pflag.FlagSet, outcome *string) {
	flags.StringVar(outcome, "outcome", "", "how the conversations ended: success, failure or unknown. A failure "+
		"yields lessons, but no new skill (default what the file states)")
}

// check reports an invalid flag.
func (f distillFlags) check() error {
	switch {
	case f.extract != transcript.ExtractAuto && f.extract != transcript.ExtractAlways &&
		f.extract != transcript.ExtractNever:
		return usageError{fmt.Errorf("unknown --extract %q: use auto, always or never", f.extract)}
	case f.giveUp != 0 && f.giveUp < minGiveUp:
		return usageError{fmt.Errorf("invalid --give-up %s: use at least %s, such as 10m", f.giveUp, minGiveUp)}
	}
	return nil
}

func (c *cli) runDistill(ctx context.Context, file string, f distillFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	outcome, err := transcript.ParseVerdict(f.outcome)
	if err != nil {
		return err
	}
	conversations, err := c.read(ctx, file, f.formatFlags)
	if err != nil {
		return err
	}
	if f.pick >= 0 {
		if f.pick >= len(conversations) {
			return fault.New(fault.NotFound, fmt.Sprintf("no conversation at --pick %d: the file holds %d", f.pick,
				len(conversations)), fmt.Sprintf("use a position from 0 to %d", len(conversations)-1))
		}
		conversations = conversations[f.pick : f.pick+1]
	}
	if f.request != "" && len(conversations) > 1 {
		return usageError{fmt.Errorf("--request-id names one request, but the file holds %d conversations: select "+
			"one with --pick",
			len(conversations))}
	}
	overrides := map[string]string{}
	for name, value := range map[string]string{"SKILL_MODE": f.mode, "SKILL_GATE": f.gate} {
		if value != "" {
			overrides[name] = value
		}
	}
	if _, err := c.load(overrides); err != nil { // validates the flags before servers are started
		return err
	}
	s, err := c.open(ctx, needs{temporal: true, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	cfg, err := c.load(overrides)
	if err != nil {
		return err
	}
	spec := app.DistillSpec(cfg, f.extract)
	spec.Outcome = outcome
	if f.giveUp > 0 {
		spec.Timing.GiveUp = f.giveUp
	}
	refs, err := s.accept(ctx, conversations, spec, f)
	if err != nil {
		return err
	}
	if !f.detach {
		if err := s.wait(ctx, refs, c.errs); err != nil {
			return err
		}
	}
	return c.printReports(ctx, s, refs)
}

// accept stores each conversation as a run and starts its workflow.
func (s *session) accept(ctx context.Context, conversations []transcript.Conversation, spec distill.Spec,
	f distillFlags) ([]run.Ref, error) {
	var refs []run.Ref
	for _, conversation := range conversations {
		r, _, err := s.Distill.Accept(ctx, distill.Request{Workspace: s.workspace.ID, WorkspaceKey: s.workspace.Key,
			ID:           f.request,
			Conversation: conversation, Channel: importChannel, Spec: spec, From: f.from, Fresh: f.fresh})
		if err != nil {
			return nil, err
		}
		refs = append(refs, r.Ref)
		if r.Status == run.Ended {
			continue
		}
		// The relay starts the workflow of every stored run. Starting it here saves the wait.
		if err := s.Driver.Start(ctx, s.workspace.Key, importChannel, r); err != nil {
			s.Log.Warn("workflow start deferred to relay", "run", r.Ref.Run, "error", err)
		}
	}
	return refs, nil
}

// importChannel is the channel of conversations that were read from files.
const importChannel = "import"
