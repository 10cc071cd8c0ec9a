package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/service/intake"
)

// formatFlags choose how a file is read.
type formatFlags struct {
	format       string
	allowUnknown bool
}

func (f *formatFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "", "format of the file, see 'cairn formats' (default detected)")
	cmd.Flags().BoolVar(&f.allowUnknown, "allow-unknown", false,
		"accept a file of which more than 5 % has an unknown kind; it is kept as JSON text")
}

// formatsHelp is part of the help of commands that read files.
const formatsHelp = "FILE holds sessions in any format of `cairn formats`: OpenAI chat messages, Anthropic messages, " +
	"sessions of Claude Code or Codex, an export of ChatGPT, and others. It can be compressed, an archive or a " +
	"folder. Use - for standard input."

func (c *cli) formats() *cobra.Command {
	return &cobra.Command{
		Use: "formats", Short: "List the formats of session files", Args: noArguments,
		Long: "List the formats of session files that Cairn reads. The format of a file is detected. " +
			"--format of `cairn import`, `cairn distill` and `cairn summarize` forces one.",
		Example: "  cairn formats",
		RunE: func(*cobra.Command, []string) error {
			all := format.Formats()
			if c.output == "json" {
				return c.printJSON(map[string]any{"formats": all})
			}
			tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "FORMAT\tCONTENT")
			for _, f := range all {
				fmt.Fprintf(tw, "%s\t%s\n", f.Name, f.About)
			}
			return tw.Flush()
		},
	}
}

// importFlags are the flags of one import.
type importFlags struct {
	formatFlags
	sendFlags
	dryRun, distill, hook bool
	outcome               string
}

func (c *cli) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Import the sessions of other agents",
		Long: "Import the conversations of session files. " + formatsHelp + "\n\nThe report of each file states " +
			"what was kept, and counts what was not. The files are stored, too, so that later versions of Cairn can " +
			"read more of them. A repeated import stores nothing twice. With --distill, the conversations are also " +
			"distilled into skills. With --dry-run, nothing is stored.\n\nWith --hook, the command sends the session " +
			"that a SessionEnd hook of Claude Code or Codex names on standard input to a gateway, as " +
			"`cairn import watch` does. --server, --state and --yes belong to it.",
		Example: "  cairn import --dry-run chat.txt\n  cairn import conversation.json --distill",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.hook && (len(args) > 0 || f.dryRun || f.outcome != "" || f.format != "" || f.allowUnknown):
				return usageError{errors.New("--hook reads standard input: it takes no file, and of the other flags " +
					"only --distill, --server, --state and --yes")}
			case !f.hook && (f.server != "" || f.state != "" || f.yes):
				return usageError{errors.New("--server, --state and --yes are for --hook and `cairn import watch`")}
			case !f.hook && len(args) == 0:
				return usageError{errors.New("missing argument: the file to import, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hook {
				return c.importHook(cmd.Context(), f.sendFlags, f.distill)
			}
			return c.importSessions(cmd.Context(), args, f)
		},
	}
	f.formatFlags.add(cmd)
	f.sendFlags.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.hook, "hook", false, "send the session of a hook's JSON on standard input to a gateway")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the report, and store nothing")
	cmd.Flags().BoolVar(&f.distill, "distill", false, "distill the conversations into skills")
	addOutcome(cmd.Flags(), &f.outcome)
	var max int
	list := &cobra.Command{Use: "list", Short: "List imported files, the latest first",
		Example: "  cairn import list --max 5", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listImports(cmd.Context(), max) }}
	list.Flags().IntVar(&max, "max", 20, "maximum number of files")
	cmd.AddCommand(list, c.importWatch(),
		&cobra.Command{Use: "show ID", Short: "Show an imported file with its conversations",
			Example: "  cairn import show 1", Args: exactly(1, "the import's ID"),
			RunE: func(cmd *cobra.Command, args []string) error { return c.showImport(cmd.Context(), args[0]) }},
		&cobra.Command{
			Use:   "reparse ID",
			Short: "Read an imported file again",
			Long: "Read an imported file again, with the formats of this version. Conversations that are read as " +
				"before are not stored again. Those that are read differently are stored in addition.",
			Example: "  cairn import reparse 1",
			Args:    exactly(1, "the import's ID"),
			RunE:    func(cmd *cobra.Command, args []string) error { return c.reparseImport(cmd.Context(), args[0]) },
		})
	return cmd
}

func (c *cli) importSessions(ctx context.Context, files []string, f importFlags) error {
	if f.dryRun && f.distill {
		return usageError{fmt.Errorf("--dry-run stores nothing: omit --distill")}
	}
	if f.outcome != "" && !f.distill {
		return usageError{fmt.Errorf("--outcome is for skills: add --distill")}
	}
	outcome, err := transcript.ParseVerdict(f.outcome)
	if err != nil {
		return err
	}
	var s *session
	if !f.dryRun {
		if s, err = c.open(ctx, needs{temporal: f.distill, make: true}); err != nil {
			return err
		}
		defer s.close()
	}
	var refs []run.Ref
	imported := []conversation.Import{}
	r := intake.Reader{Options: intake.Options{Format: f.format, AllowUnknown: f.allowUnknown}}
	for _, file := range files {
		err := c.readWith(ctx, &r, file, func(file intake.File) error {
			if f.dryRun {
				imported = append(imported, dryImport(file))
				return nil
			}
			one, more, err := s.importFile(ctx, file, r.Options, f.distill, outcome)
			imported, refs = append(imported, one), append(refs, more...)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.printImported(imported, r.Report, f.distill); err != nil || !f.distill {
		return err
	}
	if err := s.wait(ctx, refs, c.errs); err != nil {
		return err
	}
	return c.printReports(ctx, s, refs)
}

// dryImport returns what the import of a file would store.
func dryImport(f intake.File) conversation.Import {
	out := conversation.Import{Name: f.Name, Bytes: int64(len(f.Content)), Report: f.Result.Report,
		Conversations: []string{}}
	for _, one := range f.Result.Conversations {
		out.Conversations = append(out.Conversations, one.ID)
	}
	return out
}

// laterImport is when the relay continues an import that this process has not completed.
const laterImport = time.Minute

// importFile imports a file, and returns the runs that distill its conversations.
func (s *session) importFile(ctx context.Context, f intake.File, o intake.Options, distil bool,
	outcome transcript.Verdict) (out conversation.Import, refs []run.Ref, err error) {
	made, err := s.Imports.Accept(ctx, intake.Request{Workspace: s.workspace.ID, Files: []intake.File{f}, Options: o,
		Distill: distil, Outcome: outcome, After: laterImport})
	if err != nil {
		return out, nil, err
	}
	if err := s.Imports.StoreConversations(ctx, s.workspace, made[0].ID); err != nil {
		return made[0], nil, err
	}
	if out, err = s.Imports.Get(ctx, s.workspace.ID, made[0].ID); err != nil {
		return out, nil, err
	}
	out.New = made[0].New
	if distil {
		spec := app.DistillSpec(s.Config, transcript.ExtractAuto)
		spec.Outcome = outcome
		placed, err := s.Imports.Placed(ctx, s.workspace.ID, made[0].ID, f.Result.Conversations)
		if err != nil {
			return out, nil, err
		}
		refs, err = s.accept(ctx, placed, spec, distillFlags{})
		return out, refs, err
	}
	return out, refs, err
}

// printImported prints the report of each file, and of all if there are several. Reports of runs follow if the
// conversations are distilled.
func (c *cli) printImported(imported []conversation.Import, all transcript.ImportReport, follows bool) error {
	out := c.out
	if c.output == "json" {
		if !follows {
			return c.printJSON(map[string]any{"imports": imported, "report": all})
		}
		out = c.errs
	}
	for _, one := range imported {
		fmt.Fprintf(out, "%s: %s\n", one.Name, one.Report)
	}
	if len(imported) != 1 {
		all.Warnings = nil
		fmt.Fprintf(out, "all: %s\n", all)
	}
	return nil
}

func (c *cli) listImports(ctx context.Context, max int) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	all, err := s.Imports.List(ctx, s.workspace.ID, 0, max)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"imports": append([]conversation.Import{}, all...)})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tFILE\tFORMAT\tCONVERSATIONS\tMESSAGES\tSTORED\tIMPORTED")
	for _, one := range all {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%d\t%d\t%d\t%s\n", one.ID, one.Name, one.Report.Format,
			one.Report.Conversations, one.Report.Messages, one.Stored, one.CreatedAt.Format(time.DateTime))
	}
	return tw.Flush()
}

func (c *cli) showImport(ctx context.Context, id string) error {
	return c.withImport(ctx, id, func(s *session, n int64) (conversation.Import, error) {
		return s.Imports.Get(ctx, s.workspace.ID, n)
	})
}

func (c *cli) reparseImport(ctx context.Context, id string) error {
	return c.withImport(ctx, id, func(s *session, n int64) (conversation.Import, error) {
		if _, err := s.Imports.Reparse(ctx, s.workspace.ID, n, laterImport); err != nil {
			return conversation.Import{}, err
		}
		if err := s.Imports.StoreConversations(ctx, s.workspace, n); err != nil {
			return conversation.Import{}, err
		}
		return s.Imports.Get(ctx, s.workspace.ID, n)
	})
}

// withImport prints an import that fn returns.
func (c *cli) withImport(ctx context.Context, id string, fn func(s *session, n int64) (conversation.Import,
	error)) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return usageError{fmt.Errorf("invalid ID of an import %q: use a number that `cairn import list` prints", id)}
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	one, err := fn(s, n)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(one)
	}
	fmt.Fprintf(c.out, "%s: %s\n", one.Name, one.Report)
	fmt.Fprintf(c.out, "stored %d of %d conversations\n", one.Stored, one.Report.Conversations)
	for _, conversation := range one.Conversations {
		fmt.Fprintf(c.out, "  %s\n", conversation)
	}
	return nil
}

// read reads the conversations of a file, a folder or standard input, and prints the report.
func (c *cli) read(ctx context.Context, file string, f formatFlags) (all []transcript.Conversation, err error) {
	r := intake.Reader{Options: intake.Options{Format: f.format, AllowUnknown: f.allowUnknown}}
	err = c.readWith(ctx, &r, file, func(f intake.File) error {
		all = append(all, f.Result.Conversations...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(c.errs, r.Report)
	return all, nil
}

// readWith reads a file, a folder, or standard input.
func (c *cli) readWith(ctx context.Context, r *intake.Reader, file string, each intake.Each) error {
	if info, err := os.Stat(file); file != "-" && err == nil && info.IsDir() {
		root, err := os.OpenRoot(file)
		if err != nil {
			return fault.Wrap(err, fault.NotFound, "open "+file, "")
		}
		defer root.Close()
		return r.Folder(ctx, root.FS(), file, each)
	}
	in, err := c.input(file, "the file", "pass the path of a file or folder, or - for standard input")
	if err != nil {
		return err
	}
	defer in.Close()
	name := "standard input"
	if file != "-" {
		name = filepath.Base(file)
	}
	return r.Read(name, in, each)
}
