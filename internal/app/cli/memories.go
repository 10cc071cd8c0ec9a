package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

const sampleMemory = "1f0c8a52e7b94d3c"

func (c *cli) memories() *cobra.Command {
	cmd := &cobra.Command{Use: "memories", Short: "List, add and change memories",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{Use: "get MEMORY", Short: "Show a memory and its source",
		Example: "  cairn memories get " + sampleMemory, Args: exactly(1, "the memory's ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.getMemory(cmd.Context(), args[0]) }}
	history := &cobra.Command{Use: "history MEMORY", Short: "List the versions of a memory, newest first",
		Example: "  cairn memories history " + sampleMemory, Args: exactly(1, "the memory's ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.memoryHistory(cmd.Context(), args[0]) }}
	undo := &cobra.Command{Use: "undo REQUEST", Short: "Undo the memory changes of a request or a run",
		Example: "  cairn memories undo kitchen-1", Args: exactly(1, "the ID of the request"),
		Long: "Undo the changes that a summarize request, or a run such as a turn, made to memories. Prompt memories " +
			"that moved to long-term memory return. Changed memories get their " +
			"previous content, and added memories are deleted. Memories that were changed again since are not " +
			"touched. The stored session stays.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.undoRequest(cmd.Context(), args[0]) }}
	cmd.AddCommand(c.dumpMemories(), c.loadMemories(), c.copyMemories(), c.memoryList(), get, c.memoryAdd(),
		c.memoryUpdate(), c.memoryDelete(), c.memoryRestore(), history, undo)
	return cmd
}

// memoryList is the command that lists prompt memories or long-term memories.
func (c *cli) memoryList() *cobra.Command {
	var in memories.ListArgs
	var scope longTerm
	var newest bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the memories of the workspace",
		Long: "List all memories with their subject: prompt memories, which are part of every prompt, with how full " +
			"their stores are, and long-term memories, which are found by search. With --store, list prompt " +
			"memories only; with --type, --target or --newest, long-term memories only.",
		Example: "  cairn memories list\n  cairn memories list --store profile\n" +
			"  cairn memories list --type personal --target alice",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if scope.given() || newest {
				return c.listLongTerm(cmd.Context(), scope, memory.Filter{EveryStatus: in.All, Newest: newest})
			}
			return c.listMemories(cmd.Context(), in)
		},
	}
	list.Flags().StringVar(&in.Store, "store", "", "store of prompt memory: core or profile (default both)")
	list.Flags().BoolVar(&in.All, "all", false, "include removed and quarantined memories")
	list.Flags().BoolVar(&newest, "newest", false, "list long-term memories, newest first")
	scope.flags(list)
	return list
}

// memoryAdd is the command that adds a memory.
func (c *cli) memoryAdd() *cobra.Command {
	var store string
	var added longTerm
	add := &cobra.Command{Use: "add WORDS", Short: "Add a memory",
		Example: "  cairn memories add Lives in Osaka --store profile\n  cairn memories add Flies from Osaka only " +
			"--type personal --target alice\n  cat fact.txt | cairn memories add -",
		Args: someText("the memory"),
		Long: "Add a memory. WORDS is a fact in one sentence, or - for standard input. Without --type and " +
			"--target, the fact is added to prompt memory, else to long-term memory.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), args,
				func(ctx context.Context, s *session, text string) (memories.WriteResult, error) {
					if added.given() {
						return added.add(ctx, s, text)
					}
					return s.Memory.Save(ctx, s.actor(), memories.SaveArgs{Content: text, Store: store})
				})
		}}
	added.flags(add)
	add.Flags().StringVar(&added.use, "when-to-use", "",
		"when the long-term memory applies; for the type tool, the name of the tool (default none)")
	add.Flags().StringVar(&store, "store", "core", "store of prompt memory: profile (facts about the user) or core "+
		"(other facts)")
	return add
}

// memoryUpdate is the command that changes the content of a memory.
func (c *cli) memoryUpdate() *cobra.Command {
	update := &cobra.Command{Use: "update MEMORY WORDS", Short: "Change the content of a memory",
		Example: "  cairn memories update " + sampleMemory + " Lives in Kyoto", Args: idAndWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), args[1:],
				func(ctx context.Context, s *session, text string) (memories.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.actor(), args[0])
					if err != nil {
						return memories.WriteResult{}, err
					}
					if slices.Contains(memory.LongTermTypes, e.Type) {
						return asWriteResult(e.Type)(s.LongTerm.UpdateMemories(ctx, s.actor(),
							[]memories.ChangedMemory{{ID: e.ID, Content: text}}))
					}
					return s.Memory.Replace(ctx, s.actor(),
						memories.ReplaceArgs{Store: string(e.Type), Match: e.ID, Content: text})
				})
		}}
	return update
}

// memoryDelete is the command that deletes a memory.
func (c *cli) memoryDelete() *cobra.Command {
	remove := &cobra.Command{Use: "delete MEMORY",
		Short: "Delete a memory",
		Long: "Delete a memory. For the days in the setting limits.undo_days, `cairn memories restore MEMORY` " +
			"restores a deleted memory.",
		Example: "  cairn memories delete " + sampleMemory, Args: exactly(1, "the memory's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), nil,
				func(ctx context.Context, s *session, _ string) (memories.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.actor(), args[0])
					if err != nil {
						return memories.WriteResult{}, err
					}
					if slices.Contains(memory.LongTermTypes, e.Type) {
						return asWriteResult(e.Type)(s.LongTerm.DeleteMemories(ctx, s.actor(),
							[]memories.DeleteRequest{{ID: e.ID}}))
					}
					return s.Memory.Remove(ctx, s.actor(), memories.RemoveArgs{Store: string(e.Type), Match: e.ID})
				})
		}}
	return remove
}

// memoryRestore is the command that restores a version of a memory.
func (c *cli) memoryRestore() *cobra.Command {
	var version int
	restore := &cobra.Command{Use: "restore MEMORY",
		Short:   "Restore a version of a memory",
		Example: "  cairn memories restore " + sampleMemory, Args: exactly(1, "the memory's ID"),
		Long: "Restore a version of a memory that was changed or deleted. The memory keeps its ID. A memory that was " +
			"deleted more days ago than the setting limits.undo_days cannot be restored.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.writeMemory(cmd.Context(), nil,
				func(ctx context.Context, s *session, _ string) (memories.WriteResult, error) {
					e, err := s.Memory.Get(ctx, s.actor(), args[0])
					if err != nil {
						return memories.WriteResult{}, err
					}
					if slices.Contains(memory.PromptTypes, e.Type) {
						return s.Memory.Restore(ctx, s.actor(), memories.PromptRestoreArgs{ID: e.ID, Version: version})
					}
					return asWriteResult(e.Type)(s.LongTerm.Restore(ctx, s.actor(),
						memories.RestoreArgs{ID: e.ID, Version: version}))
				})
		}}
	restore.Flags().IntVar(&version, "version", 0,
		"version to restore, from cairn memories history (default the last version)")
	return restore
}

func idAndWords(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return usageError{fmt.Errorf("expected the ID of the memory and its new content")}
	}
	return someText("the new content")(cmd, args[1:])
}

// listMemories lists prompt memories, and unless one of their stores is chosen, long-term memories after them.
func (c *cli) listMemories(ctx context.Context, in memories.ListArgs) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		listing, err := s.Memory.List(ctx, s.actor(), in)
		if err != nil {
			return err
		}
		entries, names := append([]memory.Entry{}, listing.Entries...), subjects{}
		if in.Store == "" {
			lasting, err := s.allLongTerm(ctx, memory.Filter{EveryStatus: in.All})
			if err != nil {
				return err
			}
			if names, err = s.subjects(ctx); err != nil {
				return err
			}
			entries = append(entries, lasting...)
		}
		switch {
		case c.output == "json":
			return c.printJSON(map[string]any{"memories": names.named(entries), "usage_percent": listing.Usage})
		case len(entries) == 0:
			what := "memories"
			if in.Store != "" {
				what = "prompt memories of the store " + in.Store
			}
			fmt.Fprintf(c.out, "no %s in workspace %q; add one, for example with `cairn memories add Lives in Osaka`\n",
				what, s.workspace.Name)
			return nil
		}
		if err := c.printMemories(entries, names); err != nil || c.output == "text" {
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
	return c.withSession(ctx, needs{}, func(s *session) error {
		e, err := s.Memory.Get(ctx, s.actor(), id)
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
			fmt.Fprintf(c.out, "— source: messages %d to %d of conversation %d\n", e.Evidence.FromSeq,
				e.Evidence.ToSeq, e.Evidence.Conversation)
		}
		return nil
	})
}

// writeMemory changes a memory and prints the result.
func (c *cli) writeMemory(ctx context.Context, args []string,
	write func(context.Context, *session, string) (memories.WriteResult, error)) error {
	text, err := c.text(args)
	if err != nil {
		return err
	}
	return c.withSession(ctx, needs{make: true}, func(s *session) error {
		w, err := write(ctx, s, text)
		if err != nil {
			return err
		}
		return c.printWritten(w)
	})
}

func (c *cli) printWritten(w memories.WriteResult) error {
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
	return c.withSession(ctx, needs{}, func(s *session) error {
		revisions, err := s.Memory.History(ctx, s.actor(), id, most)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"id": id, "revisions": revisions})
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "VERSION\tCHANGE\tCREATED\tBY\tCONTENT")
		for _, r := range revisions {
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", r.Version, r.Action, r.CreatedAt.Local().Format(time.DateTime),
				r.Origin, short(oneLine(r.Content)))
		}
		return tw.Flush()
	})
}

func (c *cli) undoRequest(ctx context.Context, request string) error {
	return c.withSession(ctx, needs{}, func(s *session) error {
		items, err := s.Progressive.Undo(ctx, s.actor(), request)
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
