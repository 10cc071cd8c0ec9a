package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/app"
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
		Use: "formats", Short: "List the formats of session files", Args: cobra.NoArgs,
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
	dryRun, distill bool
}

func (c *cli) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Store the sessions of other agents",
		Long: "Store the conversations of session files. " + formatsHelp + "\n\nThe report of each file states " +
			"what was kept, and counts what was not. A repeated import stores nothing twice. With --distill, the " +
			"conversations are also distilled into skills. With --dry-run, nothing is stored.",
		Example: "  cairn import --dry-run session.jsonl\n  cairn import conversations.json --distill",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("missing argument: the file to import, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.importSessions(cmd.Context(), args, f) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the report, and store nothing")
	cmd.Flags().BoolVar(&f.distill, "distill", false, "distill the conversations into skills")
	return cmd
}

// importedFile is one line of the result of an import.
type importedFile struct {
	File          string              `json:"file"`
	Report        format.ImportReport `json:"report"`
	Conversations []string            `json:"conversations"` // IDs
}

func (c *cli) importSessions(ctx context.Context, files []string, f importFlags) error {
	if f.dryRun && f.distill {
		return usageError{fmt.Errorf("--dry-run stores nothing: omit --distill")}
	}
	var s *session
	if !f.dryRun {
		var err error
		if s, err = c.open(ctx, needs{temporal: f.distill, make: true}); err != nil {
			return err
		}
		defer s.close()
	}
	var refs []run.Ref
	imported := []importedFile{}
	r := intake.Reader{Options: intake.Options{Format: f.format, AllowUnknown: f.allowUnknown}}
	for _, file := range files {
		err := c.readWith(ctx, &r, file, func(name string, result format.Result) error {
			one := importedFile{File: name, Report: result.Report, Conversations: []string{}}
			for _, conversation := range result.Conversations {
				one.Conversations = append(one.Conversations, conversation.ID)
			}
			imported = append(imported, one)
			if f.dryRun {
				return nil
			}
			if err := s.Imports.Import(ctx, s.workspace.ID, result.Conversations); err != nil || !f.distill {
				return err
			}
			more, err := s.accept(ctx, result.Conversations, app.DistillSpec(s.Config, transcript.ExtractAuto),
				distillFlags{})
			refs = append(refs, more...)
			return err
		})
		if err != nil {
			return err
		}
	}
	c.printImport(imported, r.Report)
	if !f.distill {
		if c.output == "json" {
			return c.printJSON(map[string]any{"files": imported, "report": r.Report})
		}
		return nil
	}
	if err := s.wait(ctx, refs, c.errs); err != nil {
		return err
	}
	return c.printReports(ctx, s, refs)
}

// printImport prints the report of each file, and of all if there are several.
func (c *cli) printImport(imported []importedFile, all format.ImportReport) {
	out := c.out
	if c.output == "json" {
		out = c.errs
	}
	for _, one := range imported {
		fmt.Fprintf(out, "%s: %s\n", one.File, one.Report)
	}
	if len(imported) != 1 {
		all.Warnings = nil
		fmt.Fprintf(out, "all: %s\n", all)
	}
}

// read reads the conversations of a file, a folder or standard input, and prints the report.
func (c *cli) read(ctx context.Context, file string, f formatFlags) (all []transcript.Conversation, err error) {
	r := intake.Reader{Options: intake.Options{Format: f.format, AllowUnknown: f.allowUnknown}}
	err = c.readWith(ctx, &r, file, func(_ string, result format.Result) error {
		all = append(all, result.Conversations...)
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
