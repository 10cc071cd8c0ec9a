// Package cli implements the commands of the program cairn.
//
// Each command is a cobra.Command. It reads its arguments, opens a session (the servers and the
// services), calls one service, and prints the result as a table, as text or as JSON. Errors are
// printed with their code and a hint, and the code determines the exit status.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/app/buildinfo"
	"cairn/internal/domain/audit"
)

// Execute runs the command line of this process and exits with its status.
func Execute() {
	app.EnterChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Command returns the root command with all its subcommands, for generated documentation.
func Command() *cobra.Command { return (&cli{program: "cairn"}).root() }

// programName is how the user started this program: the path, or "cairn" if it was found on PATH.
func programName(path string) string {
	if strings.ContainsRune(path, os.PathSeparator) {
		return path
	}
	return "cairn"
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args, environ []string, in io.Reader, out, errs io.Writer) int {
	c := &cli{program: programName(os.Args[0]), args: args, in: in, out: out, errs: errs, environ: environ}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(audit.With(ctx, audit.Actor{Kind: audit.CLI, Account: account()})); err != nil {
		if ctx.Err() != nil { // Ctrl-C
			if !errors.As(err, new(stopped)) {
				err = errors.New("interrupted")
			}
			fmt.Fprintf(errs, "%s: %s\n", root.Name(), err)
			return exitInterrupted
		}
		return PrintError(errs, root.Name(), c.output, err)
	}
	return 0
}

// cli is one invocation of the program.
type cli struct {
	program   string // for printed commands
	args      []string
	in        io.Reader
	out, errs io.Writer
	environ   []string
	output    string // table, json or text
	workspace string
	home      string
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn",
		Short: "Give AI agents durable memory and versioned skills",
		Long: "Cairn answers conversations, remembers facts about their users, and distills conversations into " +
			"versioned skills. Each step is a retryable Temporal activity, each effect happens exactly once, and " +
			"all data is stored in one Postgres database.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Version = buildinfo.Read().String()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	home := ".cairn"
	if buildinfo.Packaged() {
		home = "~/.local/share/cairn"
	}
	flags := root.PersistentFlags()
	flags.StringVarP(&c.output, "output", "o", "table", "output format: table, json or text")
	flags.StringVarP(&c.workspace, "workspace", "w", "",
		"workspace to use (default $CAIRN_WORKSPACE, else \"default\")")
	flags.StringVar(&c.home, "home", "", "folder of packages and of the development stack's data (default "+
		"$CAIRN_HOME, else "+home+")")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if c.output != "table" && c.output != "json" && c.output != "text" {
			return usageError{fmt.Errorf("unknown output format %q: use table, json or text", c.output)}
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagError(err)} })
	c.addCommands(root)
	wrapLong(root)
	return root
}

// parserNames are the names of functions that pflag includes in its messages.
var parserNames = regexp.MustCompile(`(strconv\.\w+: parsing "[^"]*": |time: )`)

// flagError removes names of Go functions from the message of an invalid flag.
func flagError(err error) error { return errors.New(parserNames.ReplaceAllString(err.Error(), "")) }

// addCommands adds all commands, in the groups that the help shows.
func (c *cli) addCommands(root *cobra.Command) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"start", "Get started:", []*cobra.Command{c.demo(), c.dev(), c.doctor(), c.config(), c.version()}},
		{"memory", "Conversations and memory:", []*cobra.Command{c.chat(), c.turn(), c.conversations(), c.memories(),
			c.targets(), c.soul(), c.summarize(), c.retrieve(), c.search(), c.working(), c.reflect()}},
		{"skills", "Skills:", []*cobra.Command{c.distill(), c.importCommand(), c.formats(), c.skills(), c.inbox(),
			c.curate(),
			c.insights()}},
		{"learning", "Learning:", []*cobra.Command{c.bank(), c.feedback(), c.train(), c.evolve(), c.evalCommand()}},
		{"channels", "Chat platforms:", []*cobra.Command{c.gateway(), c.channels(), c.people(), c.deliveries()}},
		{"operations", "Operations:", []*cobra.Command{c.serve(), c.consoleCommand(), c.mcp(), c.workspaces(),
			c.keys(), c.settings(),
			c.schedule(),
			c.runs(), c.replay(), c.reembed(), c.erase(), c.audit(), c.migrate(), c.restoreCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("start")
}

// helpWidth is the width of help texts in columns.
const helpWidth = 80

// wrapLong wraps the paragraphs of each command's long help, so that the source code does not
// contain line breaks at fixed columns.
func wrapLong(cmd *cobra.Command) {
	cmd.Long = wrapText(cmd.Long, helpWidth)
	for _, sub := range cmd.Commands() {
		wrapLong(sub)
	}
}

// wrapText breaks paragraphs, which are separated by empty lines, into lines of at most width columns.
func wrapText(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		var lines []string
		line := ""
		for _, word := range strings.Fields(p) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				lines, line = append(lines, line), word
			default:
				line += " " + word
			}
		}
		paragraphs[i] = strings.Join(append(lines, line), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// exactly requires n arguments and returns a usageError otherwise.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("expected exactly %d %s: %s", n, arguments(n), what)}
		}
		return nil
	}
}

// arguments returns the word for n arguments.
func arguments(n int) string {
	if n == 1 {
		return "argument"
	}
	return "arguments"
}

// noArguments refuses arguments. Those of a group of commands are unknown commands.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && !cmd.HasSubCommands() {
		return usageError{fmt.Errorf("unexpected argument %q: the command takes none", args[0])}
	}
	return cobra.NoArgs(cmd, args)
}

func atMost(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("expected at most %d %s: %s", n, arguments(n), what)}
		}
		return nil
	}
}
