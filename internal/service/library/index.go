package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Limits of the index, which is part of every prompt.
const (
	indexSkills      = 80
	indexTokens      = 4_000
	indexDescription = 160 // runes
	indexRest        = 16  // tokens reserved for the line with the number of omitted skills
)

// Index is the list of skills in a prompt: name and description, grouped by category. It has
// nothing that changes with use.
type Index struct {
	Lines []string // including headings of categories
	Shown int
	More  int // number of skills that did not fit
}

// Text returns the index as prompt text, empty without skills.
func (x Index) Text() string { return strings.Join(x.Lines, "\n") }

// Index lists the skills for a new prompt session. If there are too many, it keeps pinned and
// recently used ones.
func (l *Library) Index(ctx context.Context, ws int64) (Index, error) {
	var offered []skill.IndexEntry
	err := l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		offered, err = tx.Skills().Offered(ctx)
		return err
	})
	if err != nil {
		return Index{}, err
	}
	lines := make([]string, len(offered))
	for i, o := range offered {
		text, bad := sanitised(o.ID, o.Description, o.Risk)
		if bad {
			_, _ = l.quarantine(ctx, ws, o.ID) // the notice is shown even if the quarantine fails
		}
		lines[i] = fmt.Sprintf("- %s: %s", o.Name, cutRunes(text, indexDescription))
	}
	return layOut(offered, lines), nil
}

// layOut keeps the lines that fit, in the order of offered, and sorts them.
func layOut(offered []skill.IndexEntry, lines []string) Index {
	kept, tokens := []int{}, 0
	headed := map[string]bool{"": true}
	for i, o := range offered {
		cost := llm.EstimateTokens(lines[i] + "\n")
		if !headed[o.Category] {
			cost += llm.EstimateTokens(o.Category + ":\n")
		}
		if len(kept) == indexSkills || tokens+cost > indexTokens-indexRest {
			break
		}
		tokens += cost
		headed[o.Category] = true
		kept = append(kept, i)
	}
	slices.SortFunc(kept, func(a, b int) int {
		return cmp.Or(strings.Compare(offered[a].Category, offered[b].Category),
			strings.Compare(offered[a].Name, offered[b].Name))
	})
	x := Index{Shown: len(kept), More: len(offered) - len(kept)}
	category := ""
	for _, i := range kept {
		if c := offered[i].Category; c != category {
			category = c
			x.Lines = append(x.Lines, c+":")
		}
		x.Lines = append(x.Lines, lines[i])
	}
	if x.More > 0 {
		x.Lines = append(x.Lines, fmt.Sprintf("(+%d more — skill_list(query))", x.More))
	}
	return x
}

// cutRunes truncates a text and marks it as truncated.
func cutRunes(text string, limit int) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= limit {
		return string(r)
	}
	return strings.TrimRight(string(r[:limit-1]), " ") + "…"
}
