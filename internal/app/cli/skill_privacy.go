package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// privacy counts private values of a version by kind. It never holds a value.
type privacy struct {
	Name       string         `json:"name"`
	Version    int            `json:"version"`
	InText     map[string]int `json:"placeholders"` // in the text and the files of the version
	Draft      map[string]int `json:"draft"`        // masked or removed in the draft of its run
	Redactions int            `json:"redactions"`   // secrets removed before the model calls
}

func (c *cli) viewPrivacy(ctx context.Context, name string, number int) error {
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	_, v, err := s.version(ctx, name, number)
	if err != nil {
		return err
	}
	p := privacy{Name: v.Name, Version: v.Number, Redactions: v.Redactions, InText: guard.Placeholders(allText(v))}
	if p.Draft, err = s.draftPrivacy(ctx, v); err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(p)
	}
	fmt.Fprintf(c.out, "%s, version %d: %d secrets removed before the model calls\n", p.Name, p.Version, p.Redactions)
	kinds := maps.Clone(p.InText)
	maps.Copy(kinds, p.Draft)
	if len(kinds) == 0 {
		fmt.Fprintln(c.out, "no private values were masked or removed")
		return nil
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KIND\tPLACEHOLDERS\tMASKED OR REMOVED IN THE DRAFT")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(tw, "%s\t%d\t%d\n", kind, p.InText[kind], p.Draft[kind])
	}
	return tw.Flush()
}

func allText(v skill.Version) string {
	texts := []string{v.DisplayName, v.Description, v.Body}
	for _, f := range v.Files {
		texts = append(texts, f.Content)
	}
	return strings.Join(texts, "\n")
}

// draftPrivacy returns the counts of the draft that a version was made of, or none without a draft.
func (s *session) draftPrivacy(ctx context.Context, v skill.Version) (counts map[string]int, err error) {
	counts = map[string]int{}
	if v.Run == "" || v.TaskKey == "" {
		return counts, nil
	}
	err = s.Store.InWorkspace(ctx, s.workspace.ID, func(ctx context.Context, q store.Tx) error {
		tasks, err := q.Tasks().Tasks(ctx, v.Run) // none if the run was erased
		for _, t := range tasks {
			if t.Key == v.TaskKey && t.Draft != nil {
				maps.Copy(counts, t.Draft.Privacy)
			}
		}
		return err
	})
	return counts, err
}
