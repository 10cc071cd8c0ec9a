package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/promptmemory"
)

// longTerm are the flags that make a command one of long-term memory.
type longTerm struct{ kind, target, use string }

func (l *longTerm) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.kind, "type", "", "type of long-term memories: personal, procedural, tool or summary "+
		"(default none)")
	cmd.Flags().StringVar(&l.target, "target", "", "target of long-term memories, such as alice (default none)")
}

func (l *longTerm) given() bool { return l.kind+l.target != "" }

func (l *longTerm) add(ctx context.Context, s *session, text string) (promptmemory.WriteResult, error) {
	actor := s.actor()
	actor.Subject = agent.MemoryScope{Type: l.kind, Target: l.target}
	return asWriteResult(memory.Type(l.kind))(
		s.LongTerm.AddMemories(ctx, actor, []longterm.NewMemory{{Content: text, WhenToUse: l.use}}))
}

// asWriteResult returns a function that converts results of long-term memory to the form of prompt
// memory.
func asWriteResult(t memory.Type) func([]longterm.ItemResult, error) (promptmemory.WriteResult, error) {
	return func(items []longterm.ItemResult, err error) (promptmemory.WriteResult, error) {
		out := promptmemory.WriteResult{Store: t}
		for _, i := range items {
			out.Action, out.IDs = i.Status, append(out.IDs, i.ID)
		}
		return out, err
	}
}

func (c *cli) listLongTerm(ctx context.Context, l longTerm, f memory.Filter) error {
	if l.kind != "" {
		f.Types = []memory.Type{memory.Type(l.kind)}
	}
	if l.target != "" {
		f.Targets = []string{l.target}
	}
	return c.withSession(ctx, needs{}, func(s *session) error {
		entries := []memory.Entry{}
		for {
			page, err := s.LongTerm.List(ctx, s.actor(), f)
			if err != nil {
				return err
			}
			if entries = append(entries, page...); len(page) < longterm.MostListed {
				break
			}
			f.After = page[len(page)-1].Key
		}
		switch c.output {
		case "json":
			return c.printJSON(map[string]any{"memories": entries})
		case "text":
			for _, e := range entries {
				fmt.Fprintln(c.out, e.Content)
			}
			return nil
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "MEMORY\tTYPE\tTARGET\tSTATUS\tCHANGED\tCONTENT")
		for _, e := range entries {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Type, e.Target, e.Status,
				e.UpdatedAt.Local().Format(time.DateTime), short(oneLine(e.Content)))
		}
		return tw.Flush()
	})
}
