package reference

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/internal/app/cli"
)

// cliPage describes all commands of cairn.
func cliPage(p *page, _ string) error {
	root := cli.Command()
	p.heading(1, "Command line")
	p.paragraph(root.Long)
	for _, group := range root.Groups() {
		var rows [][]string
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID && cmd.Name() != "help" {
				rows = append(rows, []string{"[`" + cmd.CommandPath() + "`](#" + anchor(cmd) + ")", cmd.Short})
			}
		}
		p.heading(2, strings.TrimSuffix(group.Title, ":"))
		p.table([]string{"Command", "Purpose"}, rows)
	}
	p.heading(2, "Global flags")
	p.table(flagHeader, flagRows(root.PersistentFlags()))
	for _, cmd := range root.Commands() {
		if cmd.GroupID != "" && cmd.Name() != "help" {
			command(p, cmd)
		}
	}
	return nil
}

// anchor is the link target of a command's heading.
func anchor(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func command(p *page, cmd *cobra.Command) {
	level := 2
	if cmd.Parent() != cmd.Root() {
		level = 3
	}
	p.heading(level, cmd.CommandPath())
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	p.paragraph(text)
	if !cmd.HasSubCommands() {
		p.code("", cmd.UseLine())
	}
	flags := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	flags.AddFlagSet(cmd.NonInheritedFlags())
	p.table(flagHeader, flagRows(flags))
	if cmd.Example != "" {
		var lines []string
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			lines = append(lines, strings.TrimPrefix(line, "  "))
		}
		p.code("sh", strings.Join(lines, "\n"))
	}
	for _, sub := range cmd.Commands() {
		command(p, sub)
	}
}

var flagHeader = []string{"Flag", "Type", "Description"}

func flagRows(flags *pflag.FlagSet) (rows [][]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		usage := f.Usage
		if !slices.Contains([]string{"", "0", "0s", "[]", "false"}, f.DefValue) {
			usage += " (default `" + f.DefValue + "`)"
		}
		rows = append(rows, []string{name, f.Value.Type(), usage})
	})
	return rows
}
