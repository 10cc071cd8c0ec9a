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
	"cairn/internal/service/search"
)

// lookup is what `cairn search` was told beside the words.
type lookup struct {
	kinds, types, targets       []string
	after, before, conversation string
	limit                       int
}

func (c *cli) search() *cobra.Command {
	var l lookup
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the workspace's skills, or with --kinds everything; an exact name or id " +
			"comes first, an unrelated query finds nothing",
		Example: "  cairn search how to cancel a flight\n  cairn search --kinds turn,memory --after 2023-05-01 who " +
			"came to the wedding",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("give some words to search for")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSearch(cmd.Context(), strings.Join(args, " "), l)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&l.kinds, "kinds", []string{search.KindSkill}, "what to search: turn, memory, skill, or all")
	flags.StringSliceVar(&l.types, "types", nil, "only memories of these types, personal,note for instance")
	flags.StringSliceVar(&l.targets, "targets", nil, "only memories about, and turns said by, these")
	flags.StringVar(&l.after, "after", "",
		"only what was said or happened from this day or time on, 2023-05-08 or RFC 3339")
	flags.StringVar(&l.before, "before", "", "only what was said or happened before this day or time")
	flags.StringVar(&l.conversation, "conversation", "",
		"only turns of this conversation, and what was remembered from it")
	flags.IntVar(&l.limit, "limit", 5, "how many results at most, 1 to 50")
	return cmd
}

// request is nil when only skills are wanted, which have a search of their own.
func (l lookup) request(query string) (*search.Request, error) {
	r := &search.Request{Query: query, Kinds: l.kinds, Targets: l.targets, Conversation: l.conversation, Limit: l.limit}
	if slices.Contains(l.kinds, "all") {
		r.Kinds = nil
	}
	for _, t := range l.types {
		r.Types = append(r.Types, memory.Type(t))
	}
	var err error
	if r.After, err = moment(l.after); err != nil {
		return nil, usageError{fmt.Errorf("--after: %w", err)}
	}
	if r.Before, err = moment(l.before); err != nil {
		return nil, usageError{fmt.Errorf("--before: %w", err)}
	}
	skillsOnly := slices.Equal(l.kinds, []string{search.KindSkill}) && len(l.types)+len(l.targets) == 0 &&
		l.after+l.before+l.conversation == ""
	if skillsOnly {
		return nil, nil
	}
	return r, nil
}

func moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time; write 2023-05-08 or 2023-05-08T13:00:00Z", text)
}

func (c *cli) runSearch(ctx context.Context, query string, l lookup) error {
	if l.limit < 1 || l.limit > 50 {
		return usageError{fmt.Errorf("--limit %d: use 1 to 50", l.limit)}
	}
	r, err := l.request(query)
	if err != nil {
		return err
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	if r != nil {
		return c.runFind(ctx, s, *r)
	}
	found, err := s.Finder.Skills(ctx, s.workspace.ID, query, l.limit)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"query": query, "results": found})
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tVERSION\tSIMILARITY\tDESCRIPTION")
	for _, f := range found {
		fmt.Fprintf(tw, "%s\t%d\t%.2f\t%s\n", f.Skill.Name, f.Skill.Version, f.Cosine, short(f.Skill.Description))
	}
	return tw.Flush()
}

func (c *cli) runFind(ctx context.Context, s *session, r search.Request) error {
	found, err := s.Finder.Find(ctx, s.workspace.ID, r)
	if err != nil {
		return err
	}
	if c.output == "json" {
		if found == nil {
			found = []search.Result{}
		}
		return c.printJSON(map[string]any{"query": r.Query, "results": found})
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KIND\tID\tWHEN\tWHO\tTEXT")
	for _, f := range found {
		when := ""
		if f.EventTime != nil {
			when = f.EventTime.Format(time.DateOnly)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", f.Kind, f.ID, when, f.Target, short(f.Text))
	}
	return tw.Flush()
}
