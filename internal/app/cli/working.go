package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/offload"
)

func (c *cli) working() *cobra.Command {
	cmd := &cobra.Command{Use: "working", Short: "Shorten threads and read offloaded content",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.workingOffload(), c.workingReload(), c.workingGrep(), c.workingRead())
	return cmd
}

func (c *cli) workingOffload() *cobra.Command {
	r := offload.Request{}
	mode := ""
	cmd := &cobra.Command{
		Use: "offload FILE", Short: "Shorten a thread and print it as JSON",
		Long: "Shorten the thread in a file (- for standard input) and print it as JSON. Mode compact offloads " +
			"large tool results and leaves handles. Mode compress lets a model summarize older turns. Mode auto " +
			"compacts, and compresses if compaction is not enough. FILE has the formats of `cairn distill`. The " +
			"last user turn never changes. If the model returns no valid summary, the thread does not change.",
		Example: "  cairn working offload conversation.json --session demo --total 100 --keep 0\n  cat chat.txt | " +
			"cairn working offload - --mode compact",
		Args: exactly(1, "the file to shorten"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Options.Mode = workingmemory.Mode(mode)
			return c.runOffload(cmd.Context(), args[0], r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&mode, "mode", string(workingmemory.ByAuto), "how to shorten: compact, compress or auto")
	f.StringVar(&r.Session, "session", "", "name under which cairn working grep searches all offloaded content "+
		"(default none)")
	f.IntVar(&r.Options.TotalTokens, "total", 0,
		"tokens of older messages above which the thread is shortened (default 20000)")
	f.IntVar(&r.Options.ToolTokens, "tool", 0, "tokens above which a tool result is offloaded (default 2000)")
	f.IntVar(&r.Options.KeepRecent, "keep", -1,
		"number of last messages that never change; -1 means 10")
	f.IntVar(&r.Options.Preview, "preview", -1, "characters of offloaded content that stay in the thread; -1 means "+
		"200")
	f.IntVar(&r.Options.GroupTokens, "group", 0, "tokens of the messages that one summary replaces (default 12000)")
	f.Float64Var(&r.Options.Ratio, "ratio", 0,
		"share of the tokens above which mode auto also compresses (default 0.75)")
	f.DurationVar(&r.TTL, "ttl", 0, "how long offloaded content is kept (default $CAIRN_OFFLOAD_TTL, else 168h)")
	f.DurationVar(&r.Wait, "wait", 2*time.Minute, "how long to wait for the model")
	return cmd
}

func (c *cli) runOffload(ctx context.Context, file string, r offload.Request) error {
	conversations, err := c.read(ctx, file, formatFlags{})
	if err != nil {
		return err
	}
	if len(conversations) != 1 {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("the file holds %d conversations", len(conversations)),
			"pass a file with one conversation")
	}
	s, err := c.open(ctx, needs{temporal: r.Options.Mode != workingmemory.ByCompact, make: true})
	if err != nil {
		return err
	}
	defer s.close()
	r.Workspace, r.WorkspaceKey, r.Messages, r.Spec = s.workspace.ID, s.workspace.Key, conversations[0].Messages,
		app.OffloadSpec(s.Config)
	if r.TTL == 0 {
		r.TTL = s.Config.OffloadTTL
	}
	out, err := s.Offload.Offload(ctx, r)
	if err != nil {
		return err
	}
	if out.Run != "" && s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if out.Degraded {
		fmt.Fprintln(c.errs, "thread not shortened: "+out.Reason)
	}
	for i := range out.Messages {
		out.Messages[i].Seq = i
	}
	return c.printJSON(out)
}

func (c *cli) workingReload() *cobra.Command {
	return &cobra.Command{
		Use: "reload HANDLE", Short: "Print the content of a handle",
		Example: "  cairn working reload offload://4b7f…",
		Args:    exactly(1, "the handle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			content, err := s.Offload.Fetch(cmd.Context(), s.workspace.ID, workingmemory.Where{Handle: args[0]})
			if err != nil {
				return err
			}
			if content.Kind == workingmemory.Messages {
				return c.printJSON(content.Messages)
			}
			fmt.Fprintln(c.out, content.Text)
			return nil
		},
	}
}

func (c *cli) workingGrep() *cobra.Command {
	p := workingmemory.Pattern{}
	where := workingmemory.Where{}
	cmd := &cobra.Command{
		Use: "grep PATTERN", Short: "Search offloaded content",
		Example: "  cairn working grep refund --session demo --before 1 --after 1\n  cairn working grep " +
			"\"re(fund|turn)\" --regex --session demo --output json",
		Args: exactly(1, "the pattern"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			p.Pattern = args[0]
			found, err := s.Offload.Grep(cmd.Context(), s.workspace.ID, where, p)
			if err != nil {
				return err
			}
			if c.output == "json" {
				return c.printJSON(found)
			}
			c.printHits(found)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&where.Handle, "handle", "", "handle to search (default all handles of --session)")
	f.StringVar(&where.Session.Name, "session", "", "name whose offloaded content is searched (default none)")
	f.BoolVar(&p.Regex, "regex", false, "treat the pattern as a regular expression in RE2 syntax")
	f.IntVar(&p.Before, "before", workingmemory.UsualContext, "lines of context before each hit")
	f.IntVar(&p.After, "after", workingmemory.UsualContext, "lines of context after each hit")
	f.IntVar(&p.Offset, "offset", 0, "number of hits to skip (default 0)")
	f.IntVar(&p.Limit, "limit", workingmemory.UsualHits, "maximum number of hits, 1 to 50")
	return cmd
}

// printHits prints hits as grep does: the line number, then a colon for a hit or a hyphen for context.
func (c *cli) printHits(found workingmemory.Hits) {
	handle := ""
	for _, h := range found.Hits {
		if h.Handle != handle {
			handle = h.Handle
			fmt.Fprintln(c.out, strings.TrimSpace(handle+" "+h.Label))
		}
		for i, line := range h.Before {
			fmt.Fprintf(c.out, "%d- %s\n", h.Line-len(h.Before)+i, line)
		}
		fmt.Fprintf(c.out, "%d: %s\n", h.Line, h.Text)
		for i, line := range h.After {
			fmt.Fprintf(c.out, "%d- %s\n", h.Line+1+i, line)
		}
	}
	fmt.Fprintf(c.errs, "%d of %d hits\n", len(found.Hits), found.Total)
}

func (c *cli) workingRead() *cobra.Command {
	offset, limit := 0, 0
	cmd := &cobra.Command{
		Use: "read HANDLE", Short: "Print lines of the content of a handle",
		Example: "  cairn working read offload://4b7f… --offset 10 --limit 20",
		Args:    exactly(1, "the handle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			page, err := s.Offload.Read(cmd.Context(), s.workspace.ID, workingmemory.Where{Handle: args[0]}, offset,
				limit)
			if err != nil {
				return err
			}
			if c.output == "json" {
				return c.printJSON(page)
			}
			for i, line := range page.Lines {
				fmt.Fprintf(c.out, "%d: %s\n", page.From+i, line)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&offset, "offset", 0, "number of lines to skip (default 0)")
	cmd.Flags().IntVar(&limit, "limit", workingmemory.UsualLines, "maximum number of lines, 1 to 1000")
	return cmd
}
