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
	cmd := &cobra.Command{Use: "working", Short: "Shorten a thread without losing a word of it, and look into what " +
		"was put away"}
	cmd.AddCommand(c.workingOffload(), c.workingReload(), c.workingGrep(), c.workingRead())
	return cmd
}

func (c *cli) workingOffload() *cobra.Command {
	r := offload.Request{}
	mode := ""
	cmd := &cobra.Command{
		Use: "offload FILE", Short: "Shorten the thread in a file (- for standard input) and print it as JSON",
		Long: "Shorten a thread: compact puts big tool results away and leaves pointers, compress has a model " +
			"record\nwhat is older, auto compacts, and compresses when that was not enough. FILE is read as `cairn " +
			"distill`\n" +
			"reads it. The last user's turn is never touched; a record that is none leaves the thread as it was.",
		Example: "  cairn working offload conversation.json --session demo --total 100 --keep 0\n  cat chat.txt | " +
			"cairn working offload - --mode compact",
		Args: exactly(1, "the file to shorten"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Options.Mode = workingmemory.Mode(mode)
			return c.runOffload(cmd.Context(), args[0], r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&mode, "mode", string(workingmemory.ByAuto), "compact, compress or auto")
	f.StringVar(&r.Session, "session", "", "name under which what is put away is searched together")
	f.IntVar(&r.Options.TotalTokens, "total", 0,
		"tokens of the older messages up to which nothing is done (default 20000)")
	f.IntVar(&r.Options.ToolTokens, "tool", 0, "tokens above which a tool result is put away (default 2000)")
	f.IntVar(&r.Options.KeepRecent, "keep", -1,
		"messages at the end that are left alone, the last user's turn at least; -1 means 10")
	f.IntVar(&r.Options.Preview, "preview", -1, "characters that stay of what is put away; -1 means 200")
	f.IntVar(&r.Options.GroupTokens, "group", 0, "tokens of the messages that one record stands for (default 12000)")
	f.Float64Var(&r.Options.Ratio, "ratio", 0,
		"with auto: part of the tokens above which compaction was not enough (default 0.75)")
	f.DurationVar(&r.TTL, "ttl", 0, "for how long what is put away can be had back (default $CAIRN_OFFLOAD_TTL, "+
		"else a week)")
	f.DurationVar(&r.Wait, "wait", 2*time.Minute, "how long to wait for a model")
	return cmd
}

func (c *cli) runOffload(ctx context.Context, file string, r offload.Request) error {
	conversations, err := c.read(file)
	if err != nil {
		return err
	}
	if len(conversations) != 1 {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("the file holds %d conversations", len(conversations)),
			"give a file with one")
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
	if out.Run != 0 && s.Config.Offline() {
		fmt.Fprintln(c.errs, "model: "+s.models())
	}
	if out.Degraded {
		fmt.Fprintln(c.errs, "the thread is as it was: "+out.Reason)
	}
	for i := range out.Messages {
		out.Messages[i].Seq = i
	}
	return c.printJSON(out)
}

func (c *cli) workingReload() *cobra.Command {
	return &cobra.Command{
		Use: "reload HANDLE", Short: "Print all that stands behind a handle",
		Example: "  cairn working reload offload://4b7f…",
		Args:    exactly(1, "the handle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			whole, err := s.Offload.Fetch(cmd.Context(), s.workspace.ID, workingmemory.Where{Handle: args[0]})
			if err != nil {
				return err
			}
			if whole.Kind == workingmemory.Messages {
				return c.printJSON(whole.Messages)
			}
			fmt.Fprintln(c.out, whole.Text)
			return nil
		},
	}
}

func (c *cli) workingGrep() *cobra.Command {
	p := workingmemory.Pattern{}
	at := workingmemory.Where{}
	cmd := &cobra.Command{
		Use: "grep PATTERN", Short: "Look for something in what was put away",
		Example: "  cairn working grep refund --session demo --before 1 --after 1\n  cairn working grep " +
			"\"re(fund|turn)\" --regex --session demo -o json",
		Args: exactly(1, "the pattern"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.open(cmd.Context(), needs{})
			if err != nil {
				return err
			}
			defer s.close()
			p.Pattern = args[0]
			found, err := s.Offload.Grep(cmd.Context(), s.workspace.ID, at, p)
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
	f.StringVar(&at.Handle, "handle", "", "what to look into")
	f.StringVar(&at.Session.Name, "session", "", "look into all that was put away under this name")
	f.BoolVar(&p.Regex, "regex", false, "the pattern is a regular expression in RE2 syntax")
	f.IntVar(&p.Before, "before", workingmemory.UsualContext, "lines of context")
	f.IntVar(&p.After, "after", workingmemory.UsualContext, "lines of context")
	f.IntVar(&p.Offset, "offset", 0, "hits to pass over")
	f.IntVar(&p.Limit, "limit", workingmemory.UsualHits, "hits at most, 1 to 50")
	return cmd
}

// printHits prints hits as grep does: the number of a line, a colon at a hit and
// a hyphen at its context.
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
		Use: "read HANDLE", Short: "Print lines of what stands behind a handle",
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
	cmd.Flags().IntVar(&offset, "offset", 0, "lines to pass over")
	cmd.Flags().IntVar(&limit, "limit", workingmemory.UsualLines, "lines at most, 1 to 1000")
	return cmd
}
