package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

// bankPrompts is the group of commands for the prompts of a bank.
func (c *cli) bankPrompts(name *string) *cobra.Command {
	cmd := &cobra.Command{Use: "prompts", Short: "Show and change the prompts of a bank", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: "Show and change the prompts of a bank. A bank can replace the built-in prompts of these stages: " +
			"remember (the executor applies memory skills), recite (answers a question of a training), diagnose and " +
			"propose (the designer), and grade (the judge). Prompts belong to a version of the bank: `cairn bank " +
			"diff` shows their changes, and `cairn bank rollback` restores them."}
	lang := "en"
	cmd.PersistentFlags().StringVar(&lang, "language", "en", "language of the prompt: en or zh")
	list := &cobra.Command{Use: "list", Short: "List the prompts of a bank", Example: "  cairn bank prompts list",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error {
			return c.listPrompts(cmd.Context(), *name)
		}}
	var number int
	show := &cobra.Command{Use: "show STAGE", Short: "Show a prompt of a bank",
		Example: "  cairn bank prompts show remember\n  cairn bank prompts show grade --language zh",
		Args:    exactly(1, "the stage"), RunE: func(cmd *cobra.Command, args []string) error {
			return c.showPrompt(cmd.Context(), *name, number, prompt.Stage(args[0]), lang)
		}}
	show.Flags().IntVar(&number, "version", 0, "version of the bank (default the active version)")
	cmd.AddCommand(list, show, c.bankPromptsSet(name, &lang), c.bankPromptsReset(name, &lang))
	return cmd
}

// bankPromptsSet is the command that replaces a prompt.
func (c *cli) bankPromptsSet(name, lang *string) *cobra.Command {
	return &cobra.Command{
		Use:     "set STAGE FILE",
		Short:   "Replace a prompt of a bank",
		Example: "  cairn bank prompts set remember remember.md",
		Long: "Replace a prompt of a bank in a new version. FILE is the text, or - for standard input. Start from " +
			"the text that `cairn bank prompts show STAGE` prints, and keep its placeholders: {{material}} " +
			"explains the data and that it holds no instructions, {{language}} is the language of the reply, and " +
			"{{reply}} its form. The maximum length is 8,000 characters. Runs that have started keep their prompts.",
		Args: exactly(2, "the stage and the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.promptText(args[1])
			if err != nil {
				return err
			}
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.SetPrompt(ctx, s.workspace.ID, *name, prompt.Stage(args[0]), *lang, text)
			})
		},
	}
}

// bankPromptsReset is the command that restores a built-in prompt.
func (c *cli) bankPromptsReset(name, lang *string) *cobra.Command {
	return &cobra.Command{Use: "reset STAGE", Short: "Restore the built-in prompt of a bank",
		Example: "  cairn bank prompts reset remember", Args: exactly(1, "the stage"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeBank(cmd.Context(), func(ctx context.Context, s *session) (bank.Head, error) {
				return s.Learning.Banks.SetPrompt(ctx, s.workspace.ID, *name, prompt.Stage(args[0]), *lang, "")
			})
		}}
}

// promptText reads the text of a prompt. An empty text is an error: it would restore the built-in
// prompt.
func (c *cli) promptText(file string) (string, error) {
	in, err := c.input(file, "the prompt", "pass a text file, or - for standard input")
	if err != nil {
		return "", err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err != nil {
		return "", fault.Wrap(err, fault.InvalidArgument, "read the prompt", "")
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", fault.New(fault.InvalidArgument, "the prompt is empty",
			"to restore the built-in prompt, run `cairn bank prompts reset STAGE`")
	}
	return string(raw), nil
}

func (c *cli) listPrompts(ctx context.Context, name string) error {
	return c.withBanks(ctx, func(s *session) error {
		prompts, err := s.Learning.Banks.Prompts(ctx, s.workspace.ID, name, 0)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"prompts": prompts})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "STAGE\tLANGUAGE\tSOURCE\tTEXT")
		for _, p := range prompts {
			source := "built-in"
			if p.Own {
				source = "bank"
			}
			first, _, _ := strings.Cut(p.Text, "\n")
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", p.Stage, p.Language, source, short(first))
		}
		return tw.Flush()
	})
}

func (c *cli) showPrompt(ctx context.Context, name string, number int, stage prompt.Stage, lang string) error {
	return c.withBanks(ctx, func(s *session) error {
		if _, err := prompt.Template(stage, lang); err != nil {
			return err
		}
		prompts, err := s.Learning.Banks.Prompts(ctx, s.workspace.ID, name, number)
		for _, p := range prompts {
			if p.Stage != stage || p.Language != lang {
				continue
			}
			if c.output == "json" {
				return c.printJSON(p)
			}
			fmt.Fprintln(c.out, p.Text)
		}
		return err
	})
}

// builtIn returns a text, or the built-in text of its prompt if it is empty.
func builtIn(name, text string) string {
	if text != "" {
		return text
	}
	stage, lang, _ := strings.Cut(name, ".")
	text, err := prompt.Template(prompt.Stage(stage), lang)
	if err != nil {
		return ""
	}
	return text
}
