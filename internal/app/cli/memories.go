package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/promptmemory"
)

const sampleMemory = "1f0c8a52e7b94d3c"

func (c *cli) memories() *cobra.Command {
	cmd := &cobra.Command{Use: "memories", Short: "List, add, change and approve what is remembered",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{Use: "get MEMORY", Short: "Show a memory with where it comes from",
		Example: "  cairn memories get " + sampleMemory, Args: exactly(1, "the memory's id"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.getMemory(cmd.Context(), args[0]) }}
	history := &cobra.Command{Use: "history MEMORY", Short: "List what a memory has said, the latest first",
		Example: "  cairn memories history " + sampleMemory, Args: exactly(1, "the memory's id"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.memoryHistory(cmd.Context(), args[0]) }}
	undo := &cobra.Command{Use: "undo REQUEST", Short: "Take back what a request to summarise did to long-term memory",
		Example: "  cairn memories undo kitchen-1", Args: exactly(1, "the id of the request"),
		Long: "Take back what a request to summarise did to long-term memory: what it changed says again what it " +
			"said\nbefore, what it added is gone. What was changed since is left alone. The session itself stays.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.undoRequest(cmd.Context(), args[0]) }}
	pending := &cobra.Command{Use: "pending", Short: "List the writes that wait for approval, the oldest first",
		Example: "  cairn memories pending", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pendingMemories(cmd.Context()) }}
	cmd.AddCommand(c.dumpMemories(), c.loadMemories(), c.copyMemories(), c.memoryList(), get, c.memoryAdd(),
		c.memoryUpdate(), c.memoryDelete(), c.memoryRestore(), history, undo, pending,
		c.decideMemory("approve", "Do what a write that waits wanted"),
		c.decideMemory("reject", "Drop a write that waits"))
	return cmd
}

// memoryList lists memories of prompts, or long-term ones.
func (c *cli) memoryList() *cobra.Command {
	var in promptmemory.ListArgs
	var about longTerm
	var newest bool
	list := &cobra.Command{Use: "list", Short: "List the memories that stand in every prompt, and how full their " +
		"stores are; with --type or --target, long-term ones",
		Example: "  cairn memories list --store profile\n  cairn memories list --type personal --target alice",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if about.given() || newest {
				return c.listLongTerm(cmd.Context(), about, memory.Filter{EveryStatus: in.All, Newest: newest})
			}
			return c.listMemories(cmd.Context(), in)
		}}
	list.Flags().StringVar(&in.Store, "store", "", "core or profile (default: both)")
	list.Flags().BoolVar(&in.All, "all", false, "removed and quarantined ones, too")
	list.Flags().BoolVar(&newest, "newest", false, "of long-term memories: what was made last comes first")
	about.flags(list)
	return list
}

// memoryAdd adds a memory.
func (c *cli) memoryAdd() *cobra.Command {
	var store string
	var added longTerm
	add := &cobra.Command{Use: "add WORDS", Short: "Remember a fact (- for standard input)",
		Example: "  cairn memories add Lives in Osaka --store profile\n  cairn memories add Flies from Osaka only " +
			"--type personal --target alice\n  cat fact.txt | cairn memories add -",
		Args: someText("a fact in one sentence"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), args,
				func(ctx context.Context, s *session, text string) (promptmemory.WriteResult, error) {
					if added.given() {
						return added.add(ctx, s, text)
					}
					return s.Memory.Save(ctx, s.person(), promptmemory.SaveArgs{Content: text, Store: store})
				})
		}}
	added.flags(add)
	add.Flags().StringVar(&added.use, "when-to-use", "",
		"of a long-term memory: when it helps; of a tool's guideline: the tool's name")
	add.Flags().StringVar(&store, "store", "core", "profile for who the user is, core for what is true")
	return add
}

// memoryUpdate changes what a memory says.
func (c *cli) memoryUpdate() *cobra.Command {
	update := &cobra.Command{Use: "update MEMORY WORDS", Short: "Change what a memory says (- for standard input)",
		Example: "  cairn memories update " + sampleMemory + " Lives in Kyoto", Args: idAndWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), args[1:],
				func(ctx context.Context, s *session, text string) (promptmemory.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.person(), args[0])
					if err != nil {
						return promptmemory.WriteResult{}, err
					}
					if slices.Contains(memory.LongTermTypes, e.Type) {
						return onLongTerm(e.Type)(s.LongTerm.UpdateMemories(ctx, s.person(),
							[]longterm.ChangedMemory{{ID: e.ID, Content: text}}))
					}
					return s.Memory.Replace(ctx, s.person(),
						promptmemory.ReplaceArgs{Store: string(e.Type), Match: e.ID, Content: text})
				})
		}}
	return update
}

// memoryDelete forgets a memory.
func (c *cli) memoryDelete() *cobra.Command {
	remove := &cobra.Command{Use: "delete MEMORY",
		Short:   "Forget a memory; a long-term one can be restored for the workspace's limits.undo_days",
		Example: "  cairn memories delete " + sampleMemory, Args: exactly(1, "the memory's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), nil,
				func(ctx context.Context, s *session, _ string) (promptmemory.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.person(), args[0])
					if err != nil {
						return promptmemory.WriteResult{}, err
					}
					if slices.Contains(memory.LongTermTypes, e.Type) {
						return onLongTerm(e.Type)(s.LongTerm.DeleteMemories(ctx, s.person(),
							[]longterm.DeleteRequest{{ID: e.ID}}))
					}
					return s.Memory.Remove(ctx, s.person(), promptmemory.RemoveArgs{Store: string(e.Type), Match: e.ID})
				})
		}}
	return remove
}

// memoryRestore takes a change of a long-term memory back.
func (c *cli) memoryRestore() *cobra.Command {
	var version int
	restore := &cobra.Command{Use: "restore MEMORY",
		Short:   "Have a long-term memory say again what it said, deleted or changed",
		Example: "  cairn memories restore " + sampleMemory, Args: exactly(1, "the memory's id"),
		Long: "Have a long-term memory say again what it said, whatever became of it since. What was deleted longer " +
			"ago than the\nsetting limits.undo_days is gone for good.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), nil,
				func(ctx context.Context, s *session, _ string) (promptmemory.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.person(), args[0])
					if err != nil {
						return promptmemory.WriteResult{}, err
					}
					if !slices.Contains(memory.LongTermTypes, e.Type) {
						return promptmemory.WriteResult{}, fault.New(fault.InvalidArgument,
							fmt.Sprintf("memory %s is of the type %s, and only long-term ones are restored", e.ID,
								e.Type), "`cairn memories history` shows what it said; `cairn memories add` says it "+
								"again")
					}
					return onLongTerm(e.Type)(s.LongTerm.Restore(ctx, s.person(),
						longterm.RestoreArgs{ID: e.ID, Version: version}))
				})
		}}
	restore.Flags().IntVar(&version, "version", 0,
		"the version to go back to, as history shows it (default: what it said last)")
	return restore
}

func idAndWords(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return usageError{fmt.Errorf("give the memory's id and what it says from now on")}
	}
	return someText("what it says from now on")(cmd, args[1:])
}

func (c *cli) listMemories(ctx context.Context, in promptmemory.ListArgs) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		listing, err := s.Memory.List(ctx, s.person(), in)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"memories": append([]memory.Entry{}, listing.Entries...),
				"usage_percent": listing.Usage})
		}
		if len(listing.Entries) == 0 {
			fmt.Fprintf(c.out, "nothing is remembered in workspace %q yet; `cairn memories add` and conversations "+
				"change that\n", s.workspace.Name)
			return nil
		}
		if c.output == "text" {
			for _, e := range listing.Entries {
				fmt.Fprintln(c.out, e.Content)
			}
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "MEMORY\tSTORE\tSTATUS\tBY\tCHANGED\tSAYS")
		for _, e := range listing.Entries {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Type, e.Status, e.Origin,
				e.UpdatedAt.Local().Format(time.DateTime), short(oneLine(e.Content)))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		for _, t := range memory.PromptTypes {
			if percent, listed := listing.Usage[t]; listed {
				fmt.Fprintf(c.out, "%s is %d%% full\n", t, percent)
			}
		}
		return nil
	})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c *cli) getMemory(ctx context.Context, id string) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		e, err := s.Memory.Get(ctx, s.person(), id)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"memory": e})
		}
		fmt.Fprintln(c.out, e.Content)
		if c.output == "text" {
			return nil
		}
		fmt.Fprintf(c.out, "— %s, version %d, %s, by %s\n", e.Type, e.Version, e.Status, e.Origin)
		if e.Evidence != nil {
			fmt.Fprintf(c.out, "— rests on messages %d to %d of conversation %d\n", e.Evidence.FromSeq,
				e.Evidence.ToSeq, e.Evidence.Conversation)
		}
		return nil
	})
}

// writeMemory changes what is remembered and prints what became of it.
func (c *cli) writeMemory(ctx context.Context, args []string,
	write func(context.Context, *session, string) (promptmemory.WriteResult, error)) error {
	text, err := c.text(args)
	if err != nil {
		return err
	}
	return c.looking(ctx, needs{make: true}, func(s *session) error {
		w, err := write(ctx, s, text)
		if err != nil {
			return err
		}
		return c.printWritten(w)
	})
}

func (c *cli) printWritten(w promptmemory.WriteResult) error {
	if c.output == "json" {
		return c.printJSON(w)
	}
	if slices.Contains(memory.PromptTypes, w.Store) {
		fmt.Fprintf(c.out, "%s: %s; %s is %d%% full\n", w.Action, strings.Join(w.IDs, ", "), w.Store, w.Usage)
	} else {
		fmt.Fprintf(c.out, "%s: %s; %s\n", w.Action, strings.Join(w.IDs, ", "), w.Store)
	}
	for _, warning := range w.Warnings {
		fmt.Fprintf(c.errs, "  %s\n", warning)
	}
	return nil
}

func (c *cli) memoryHistory(ctx context.Context, id string) error {
	const most = 1000
	return c.looking(ctx, needs{}, func(s *session) error {
		revisions, err := s.Memory.History(ctx, s.person(), id, most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"id": id, "revisions": revisions})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "VERSION\tCHANGE\tMADE\tBY\tSAYS")
		for _, r := range revisions {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", r.Version, r.Action, r.CreatedAt.Local().Format(time.DateTime),
				r.Origin, short(oneLine(r.Content)))
		}
		return tw.Flush()
	})
}

func (c *cli) undoRequest(ctx context.Context, request string) error {
	return c.looking(ctx, needs{}, func(s *session) error {
		items, err := s.Progressive.Undo(ctx, s.person(), request)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"request_id": request, "operations": items})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "MEMORY\tSTATUS\tNOTE")
		for _, i := range items {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", i.ID, i.Status, short(i.Message))
		}
		return tw.Flush()
	})
}

func (c *cli) pendingMemories(ctx context.Context) error {
	const most = 1000
	return c.looking(ctx, needs{}, func(s *session) error {
		waiting, err := s.Memory.PendingList(ctx, s.person(), most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"pending": append([]promptmemory.Pending{}, waiting...)})
		}
		if len(waiting) == 0 {
			fmt.Fprintln(c.out, "no write waits")
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "WRITE\tSTORE\tSTATE\tSINCE\tBY\tWOULD\tWHY IT WAITS")
		for _, p := range waiting {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.Store, p.State,
				p.CreatedAt.Local().Format(time.DateTime), p.Origin, short(oneLine(p.Gist)), p.Reason)
		}
		return tw.Flush()
	})
}

func (c *cli) decideMemory(use, short string) *cobra.Command {
	return &cobra.Command{Use: use + " WRITE", Short: short, Example: "  cairn memories " + use + " 1",
		Args: exactly(1, "the write's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return usageError{fmt.Errorf("%q is no number of a write; `cairn memories pending` shows them",
					args[0])}
			}
			return c.looking(cmd.Context(), needs{}, func(s *session) error {
				decide := s.Memory.Approve
				if use == "reject" {
					decide = s.Memory.Reject
				}
				d, err := decide(cmd.Context(), s.person(), id)
				if err != nil {
					return err
				}
				if c.output == "json" {
					return c.printJSON(d)
				}
				fmt.Fprintf(c.out, "write %d is %s\n", d.Pending, d.State)
				return nil
			})
		}}
}
