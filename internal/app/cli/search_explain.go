package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"cairn/internal/service/search"
)

// printExplanation prints the words and rounds of a search, and the score of each result.
func (c *cli) printExplanation(r search.Response) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WORD\tDOCUMENTS\tWEIGHT")
	for _, w := range r.Explanation.Words {
		fmt.Fprintf(tw, "%s\t%d\t%.2f\n", w.Word, w.Documents, w.Weight)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	certainty := "no other document has a higher score by words"
	if !r.Lexical.Exact {
		certainty = "a limit was reached: documents with a higher score by words may be missing"
	}
	fmt.Fprintf(c.out, "\nrounds: %d, documents read: about %d; %s\n", r.Lexical.Rounds, r.Lexical.Rows, certainty)
	for i, round := range r.Explanation.Rounds {
		var sets []string
		for _, set := range round.Sets {
			sets = append(sets, fmt.Sprintf("%s (%.1f)", strings.Join(set.Words, "+"), set.Bound))
		}
		fmt.Fprintf(c.out, "  round %d: %s\n", i+1, cmp.Or(strings.Join(sets, ", "), "all documents"))
	}
	fmt.Fprintln(c.out)
	if len(r.Results) == 0 {
		fmt.Fprintln(c.out, "nothing relevant found")
		return nil
	}
	fmt.Fprintln(
		tw,
		"KIND\tID\tSCORE\tWORDS\tVECTOR\tSESSION\tTARGET\tDATE\tWHEN\tQUESTION\tRECENT\tUTILITY\tBM25\tCOSINE\tTEXT",
	)
	for _, f := range r.Results {
		e := f.Explanation
		p := e.Parts
		fmt.Fprintf(tw, "%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%s\n", f.Kind,
			f.ID, f.Score, p.Words, p.Vector, p.Session, p.Target, p.Date, p.When, p.Question, p.Recent, p.Utility,
			e.Lexical, f.Cosine, short(f.Text))
		for _, around := range f.Context {
			fmt.Fprintf(tw, "  %s\t%s%s%s\n", around.Kind, around.ID, strings.Repeat("\t", 13), short(around.Text))
		}
	}
	return tw.Flush()
}
