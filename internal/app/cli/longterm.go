package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// longTerm are the flags that make a command one of long-term memory.
type longTerm struct{ kind, target, use string }

func (l *longTerm) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.kind, "type", "", "type of long-term memories: personal, procedural, tool or summary "+
		"(default none)")
	cmd.Flags().StringVar(&l.target, "target", "", "target of long-term memories, such as alice (default none)")
}

func (l *longTerm) given() bool { return l.kind+l.target != "" }

func (l *longTerm) add(ctx context.Context, s *session, text string) (memories.WriteResult, error) {
	actor := s.actor()
	actor.Subject = agent.MemoryScope{Type: l.kind, Target: l.target}
	return asWriteResult(memory.Type(l.kind))(
		s.LongTerm.AddMemories(ctx, actor, []memories.NewMemory{{Content: text, WhenToUse: l.use}}))
}

// asWriteResult returns a function that converts results of long-term memory to the form of prompt
// memory.
func asWriteResult(t memory.Type) func([]memories.ItemResult, error) (memories.WriteResult, error) {
	return func(items []memories.ItemResult, err error) (memories.WriteResult, error) {
		out := memories.WriteResult{Store: t}
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
	return c.withSession(ctx, needs{}, func(s *session) error {
		if l.target != "" {
			id, err := s.LongTerm.Meant(ctx, s.actor(), l.target)
			if err != nil {
				return err
			}
			if id != l.target {
				fmt.Fprintf(c.errs, "target %q is the subject %q\n", l.target, id)
			}
			f.Targets = []string{id}
		}
		entries, err := s.allLongTerm(ctx, f)
		if err != nil {
			return err
		}
		names, err := s.subjects(ctx)
		if err != nil {
			return err
		}
		if c.output == "json" {
			return c.printJSON(map[string]any{"memories": names.named(entries)})
		}
		return c.printMemories(entries, names)
	})
}

// allLongTerm reads all pages of a list.
func (s *session) allLongTerm(ctx context.Context, f memory.Filter) ([]memory.Entry, error) {
	entries := []memory.Entry{}
	for {
		page, err := s.LongTerm.List(ctx, s.actor(), f)
		if err != nil {
			return nil, err
		}
		if entries = append(entries, page...); len(page) < memories.MaxListed {
			return entries, nil
		}
		f.After = page[len(page)-1].Key
	}
}

// subjects are the names of targets as they were first written.
type subjects map[memory.Scope]string

// subjects reads the names of the targets that were used last. The key of a target replaces a name that is missing.
func (s *session) subjects(ctx context.Context) (subjects, error) {
	meta, err := s.LongTerm.ReadMeta(ctx, s.actor(), memories.MetaArgs{})
	out := subjects{}
	for _, t := range meta.Targets {
		out[t.Scope()] = t.Display
	}
	return out, err
}

// of returns whom or what a memory is about.
func (s subjects) of(e memory.Entry) string {
	if e.Type == memory.Summary && len(e.Targets) > 0 {
		return strings.Join(e.Targets, ", ")
	}
	return cmp.Or(s[memory.Scope{Type: e.Type, Target: e.Target}], e.Target)
}

// namedMemory is a memory with the name of its subject.
type namedMemory struct {
	memory.Entry
	Subject string `json:"subject,omitempty"`
}

func (s subjects) named(entries []memory.Entry) []namedMemory {
	out := []namedMemory{}
	for _, e := range entries {
		out = append(out, namedMemory{e, s.of(e)})
	}
	return out
}

// printMemories writes the contents of memories as text, or a table.
func (c *cli) printMemories(entries []memory.Entry, names subjects) error {
	if c.output == "text" {
		for _, e := range entries {
			fmt.Fprintln(c.out, e.Content)
		}
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "MEMORY\tTYPE\tSUBJECT\tSTATUS\tBY\tCHANGED\tCONTENT")
	for _, e := range entries {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Type, cmp.Or(names.of(e), "-"), e.Status, e.Origin,
			e.UpdatedAt.Local().Format(time.DateTime), short(oneLine(e.Content)))
	}
	return tw.Flush()
}
