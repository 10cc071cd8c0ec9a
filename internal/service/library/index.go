package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/skill"
)

// Limits of the index that every prompt carries.
const (
	indexSkills      = 80
	indexTokens      = 4_000
	indexDescription = 160 // runes
	indexRest        = 16  // tokens for the line that says how many more there are
)

// IndexEntry is a skill that an index may show.
type IndexEntry struct {
	ID          int64
	Name        string
	Status      skill.Status
	Description string
	Category    string
	Risk        []string // that its version was accepted with
}

// Index are the skills of a workspace as a prompt lists them: name and
// description, grouped by category, nothing that changes with use.
type Index struct {
	Lines []string // headings of categories among them
	Shown int
	More  int // skills that did not fit
}

// Text is the index as a prompt has it, empty without skills.
func (x Index) Text() string { return strings.Join(x.Lines, "\n") }

// Index lists the skills for a prompt that is about to be frozen. When there are
// too many, it keeps pinned ones and those that were used last.
func (l *Library) Index(ctx context.Context, ws int64) (Index, error) {
	var offered []IndexEntry
	err := l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
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
			_, _ = l.quarantine(ctx, ws, o.ID) // the notice stands whether or not this could be written
		}
		lines[i] = fmt.Sprintf("- %s: %s", o.Name, cutRunes(text, indexDescription))
	}
	return layOut(offered, lines), nil
}

// layOut keeps what fits, in the order of offered, and sorts that.
func layOut(offered []IndexEntry, lines []string) Index {
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

// cutRunes shortens a text and says so.
func cutRunes(text string, limit int) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= limit {
		return string(r)
	}
	return strings.TrimRight(string(r[:limit-1]), " ") + "…"
}
