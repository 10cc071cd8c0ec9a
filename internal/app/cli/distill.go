package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
)

// distillFlags are the choices of one distillation.
type distillFlags struct {
	mode, gate, extract, request string
	pick, from                   int
	fresh, detach                bool
}

func (c *cli) distill() *cobra.Command {
	var f distillFlags
	cmd := &cobra.Command{
		Use:   "distill FILE",
		Short: "Distil the conversations in a file (- for standard input) into skill packages",
		Long: "Distil the conversations in a file into versioned skill packages.\n\nFILE holds OpenAI chat messages " +
			"(JSON or JSON lines), τ-bench trajectories, or text with `name: text`\n" +
			"lines. The same file distilled again is the same request: it returns what was made, and pays for\n" +
			"nothing. --fresh does it again.",
		Example: "  cairn distill conversation.json\n  cairn distill airline.json --pick 1 -o json\n  cat chat.txt " +
			"| cairn distill -",
		Args: exactly(1, "the file to distil"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runDistill(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "", "full or simple: with or without scripts and reference documents (default "+
		"$SKILL_MODE, else full)")
	flags.StringVar(&f.gate, "gate", "", "auto, memos or off: which conversations are worth distilling (default "+
		"$SKILL_GATE, else auto)")
	flags.StringVar(&f.extract, "extract", "auto", "auto, always or never: whether to ask the gate")
	flags.StringVar(&f.request, "request-id", "",
		"id of the request; the same id is the same request (default: of the content)")
	flags.IntVar(&f.pick, "pick", -1, "distil only the conversation at this position, from 0, of a file that holds "+
		"several")
	flags.IntVar(&f.from, "from", 0, "first message to distil, from 0; the ones before it only fill gaps")
	flags.BoolVar(&f.fresh, "fresh", false, "distil again although it was done before, and pay again")
	flags.BoolVar(&f.detach, "detach", false, "return when the requests are stored; a worker drives them to their end")
	return cmd
}

func (c *cli) runDistill(ctx context.Context, file string, f distillFlags) error {
	if f.extract != transcript.ExtractAuto && f.extract != transcript.ExtractAlways &&
		f.extract != transcript.ExtractNever {
		return usageError{fmt.Errorf("--extract %s is unknown; use auto, always or never", f.extract)}
	}
	conversations, err := c.read(file)
	if err != nil {
		return err
	}
	if f.pick >= 0 {
		if f.pick >= len(conversations) {
			return fault.New(fault.NotFound, fmt.Sprintf("--pick %d: the file holds %d conversations", f.pick,
				len(conversations)), fmt.Sprintf("use a position from 0 to %d", len(conversations)-1))
		}
		conversations = conversations[f.pick : f.pick+1]
	}
	if f.request != "" && len(conversations) > 1 {
		return usageError{fmt.Errorf("--request-id names one request, the file holds %d conversations; use --pick",
			len(conversations))}
	}
	overrides := map[string]string{}
	for name, value := range map[string]string{"SKILL_MODE": f.mode, "SKILL_GATE": f.gate} {
		if value != "" {
			overrides[name] = value
		}
	}
	if _, err := c.load(overrides); err != nil { // before anything is started
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

// read parses a file or standard input.
func (c *cli) read(file string) ([]transcript.Conversation, error) {
	if file == "-" {
		return transcript.Parse("standard input", c.in, transcript.MaxInput)
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "the file cannot be read",
			"give the path of a file, or - for standard input")
	}
	defer r.Close()
	if info, err := r.Stat(); err == nil && info.IsDir() {
		return nil, fault.New(fault.InvalidArgument, file+" is a folder", "give the path of a file")
	}
	return transcript.Parse(filepath.Base(file), io.Reader(r), transcript.MaxInput)
}

// accept makes every conversation durable and starts its workflow.
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
		// What is stored is driven by the relay in any case; this only saves the wait.
		if err := s.Driver.Start(ctx, s.workspace.Key, importChannel, r); err != nil {
			s.Log.Warn("the workflow is left to the relay", "run", r.Ref.Run, "error", err)
		}
	}
	return refs, nil
}

// importChannel is the channel of conversations that come from files.
const importChannel = "import"
