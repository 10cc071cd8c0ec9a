package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
)

// lookup holds the flags of `cairn search`.
type lookup struct {
	kinds, types, targets       []string
	after, before, conversation string
	limit, context              int
	explain                     bool
	set                         []string
}

func (c *cli) search() *cobra.Command {
	var l lookup
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search skills, memories and turns",
		Long: "Search the skills of the workspace, or with --kinds also memories and turns. An exact name or ID is " +
			"the first result. A query that is related to no document has no results.",
		Example: "  cairn search how to cancel a flight\n  cairn search --kinds turn,memory --after 2023-05-01 who " +
			"came to the wedding",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usageError{fmt.Errorf("missing argument: the words to search for")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSearch(cmd.Context(), strings.Join(args, " "), l)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&l.kinds, "kinds", []string{index.KindSkill}, "kinds of documents to search: turn, "+
		"memory, skill or all")
	flags.StringSliceVar(&l.types, "types", nil, "only memories of these types, such as personal,note (default all)")
	flags.StringArrayVar(&l.targets, "targets", nil, "only memories and turns of this target; repeat the flag for "+
		"several (default all)")
	flags.StringVar(&l.after, "after", "",
		"only documents at or after this day or time, such as 2023-05-08 or RFC 3339 (default all)")
	flags.StringVar(&l.before, "before", "", "only documents before this day or time (default all)")
	flags.StringVar(&l.conversation, "conversation", "",
		"only turns of this conversation and memories derived from it (default all)")
	flags.IntVar(&l.limit, "limit", 5, "maximum number of results, 1 to 50")
	flags.IntVar(&l.context, "context", 0, "number of turns to show before and after each turn, 0 to 10 (default none)")
	flags.BoolVar(&l.explain, "explain", false, "show how the results were found and how each score is composed")
	flags.StringArrayVar(&l.set, "set", nil, "parameter of this search, such as rrf_k=60; see the settings search.* "+
		"(default those of the workspace)")
	return cmd
}

// request returns nil if only skills are searched, which have a separate search.
func (l lookup) request(query string) (*search.Request, error) {
	r := &search.Request{Query: query, Kinds: l.kinds, Targets: l.targets, Conversation: l.conversation, Limit: l.limit,
		Context: l.context, Explain: l.explain}
	if slices.Contains(l.kinds, "all") {
		r.Kinds = nil
	}
	for _, t := range l.types {
		r.Types = append(r.Types, memory.Type(t))
	}
	var err error
	if r.Profile, err = search.ParseProfile(l.set); err != nil {
		return nil, err
	}
	if r.After, err = moment(l.after); err != nil {
		return nil, usageError{fmt.Errorf("--after: %w", err)}
	}
	if r.Before, err = moment(l.before); err != nil {
		return nil, usageError{fmt.Errorf("--before: %w", err)}
	}
	skillsOnly := slices.Equal(l.kinds, []string{index.KindSkill}) && len(l.types)+len(l.targets) == 0 &&
		l.after+l.before+l.conversation == "" && !l.explain && len(l.set) == 0
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
	return time.Time{}, fmt.Errorf("invalid time %q: use 2023-05-08 or 2023-05-08T13:00:00Z", text)
}

func (c *cli) runSearch(ctx context.Context, query string, l lookup) error {
	if l.limit < 1 || l.limit > 50 {
		return usageError{fmt.Errorf("invalid --limit %d: use 1 to 50", l.limit)}
	}
	if l.context < 0 || l.context > search.MaxContext {
		return usageError{fmt.Errorf("invalid --context %d: use 0 to %d", l.context, search.MaxContext)}
	}
	if l.context > 0 && !slices.Contains(l.kinds, "all") && !slices.Contains(l.kinds, index.KindTurn) {
		return usageError{fmt.Errorf("--context shows turns around turns: add --kinds turn or --kinds all")}
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
	reply, err := s.Finder.SearchSkills(ctx, s.workspace.ID, query, []skill.Status{skill.Active}, l.limit)
	if err != nil {
		return err
	}
	found := reply.Skills
	if c.output == "json" {
		out := map[string]any{"query": query, "results": found}
		if reply.Vector != "" {
			out["vector"] = reply.Vector
		}
		return c.printJSON(out)
	}
	c.noteVector(reply.Vector)
	if len(found) == 0 {
		fmt.Fprintln(c.out, "no relevant skills found; add --kinds all to search turns and memories too")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tVERSION\tSIMILARITY\tDESCRIPTION")
	for _, f := range found {
		fmt.Fprintf(tw, "%s\t%d\t%.2f\t%s\n", f.Skill.Name, f.Skill.Version, f.Cosine, short(f.Skill.Description))
	}
	return tw.Flush()
}

// noteVector says that a search had no vectors.
func (c *cli) noteVector(state string) {
	if state == search.VectorUnavailable {
		fmt.Fprintln(c.errs, "note: the embedder does not answer; only words were compared")
	}
}

func (c *cli) runFind(ctx context.Context, s *session, r search.Request) error {
	response, err := s.Finder.Search(ctx, s.workspace.ID, r)
	if err != nil {
		return err
	}
	found := response.Results
	if c.output == "json" {
		if found == nil {
			found = []index.Result{}
		}
		out := map[string]any{"query": r.Query, "results": found, "lexical": response.Lexical}
		if response.Vector != "" {
			out["vector"] = response.Vector
		}
		if r.Explain {
			out["explanation"] = response.Explanation
		}
		return c.printJSON(out)
	}
	c.noteVector(response.Vector)
	if r.Explain {
		return c.printExplanation(response)
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KIND\tID\tWHEN\tWHO\tTEXT")
	for _, f := range found {
		printResult(tw, "", f)
		for _, around := range f.Context {
			printResult(tw, "  ", around)
		}
	}
	return tw.Flush()
}

// printResult prints a row; the context of a result is indented.
func printResult(w io.Writer, indent string, f index.Result) {
	when := ""
	if f.EventTime != nil {
		when = f.EventTime.Format(time.DateOnly)
	}
	fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", indent, f.Kind, f.ID, when, f.Target, short(f.Text))
}
