package library

import (
	"cmp"
	"context"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// BrowseArgs say which skills are wanted.
type BrowseArgs struct {
	Query           string `json:"query,omitempty" jsonschema:"what the skill should help with; the best come first"`
	Category        string `json:"category,omitempty" jsonschema:"only skills of this category"`
	IncludeArchived bool   `json:"include_archived,omitempty" jsonschema:"also what is out of use"`
	Limit           int    `json:"limit,omitempty" jsonschema:"how many at most"`
	Cursor          string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

// SkillSummary is a skill in a list: enough to decide whether to view it.
type SkillSummary struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Category    *string `json:"category"`
}

// ListResult is a part of the skills.
type ListResult struct {
	Skills     []SkillSummary `json:"skills"`
	Categories []string       `json:"categories" jsonschema:"of all skills"`
	Count      int            `json:"count"`
	Total      int            `json:"total" jsonschema:"that fit"`
	NextCursor string         `json:"next_cursor,omitempty"`
	Hint       string         `json:"hint"`
}

// CategoryCount is how many skills a category has; "" is of those without one.
type CategoryCount struct {
	Category string
	Skills   int
}

// Browse lists skills by category and name, or what answers a query, the best
// first. It counts no use and shows no bodies.
func (l *Library) Browse(ctx context.Context, a agent.Actor, in BrowseArgs) (out ListResult, err error) {
	statuses := []skill.Status{skill.Active, skill.Stale}
	if in.IncludeArchived {
		statuses = append(statuses, skill.Archived)
	}
	var counts []CategoryCount
	err = l.Store.WithLibrary(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		counts, err = tx.Skills().Categories(ctx, statuses)
		return err
	})
	if err != nil {
		return out, err
	}
	out.Categories = []string{}
	for _, c := range counts {
		if c.Category != "" {
			out.Categories = append(out.Categories, c.Category)
		}
		if in.Category == "" || in.Category == c.Category {
			out.Total += c.Skills
		}
	}
	var heads []skill.Head
	if strings.TrimSpace(in.Query) != "" {
		heads, out.Total, err = l.answering(ctx, a.Workspace, in, statuses)
	} else {
		var page Page
		page, err = l.List(ctx, a.Workspace, Filter{Statuses: statuses, Category: in.Category, Limit: in.Limit,
			Cursor: in.Cursor})
		heads, out.NextCursor = page.Skills, page.Next
	}
	if err != nil {
		return ListResult{}, err
	}
	out.Skills = make([]SkillSummary, len(heads))
	for i, h := range heads {
		out.Skills[i] = SkillSummary{Name: h.Name, Description: h.Description, Category: category(h.Category)}
		if a.Origin != agent.OriginUser {
			out.Skills[i].Description = l.shown(ctx, a.Workspace, h)
		}
	}
	out.Count, out.Hint = len(out.Skills), "read one with skill_view before you use or change it"
	if out.Total == 0 {
		out.Hint = "nothing fits; a skill can be made with skill_save"
	}
	return out, nil
}

// answering are the skills that answer the query, one page of them, and how many
// were found.
func (l *Library) answering(ctx context.Context, ws int64, in BrowseArgs, statuses []skill.Status) (out []skill.Head,
	total int, err error) {
	if in.Cursor != "" {
		return nil, 0, fault.New(fault.InvalidArgument, "what answers a query has no further pages",
			"leave cursor out, or ask for more with limit")
	}
	limit := cmp.Or(in.Limit, ListedAtOnce)
	looked := limit
	if in.Category != "" { // the best of it may stand behind those of others
		looked = MostListed
	}
	found, err := l.Finder.SkillsThatAre(ctx, ws, in.Query, statuses, looked)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range found {
		if in.Category == "" || in.Category == f.Skill.Category {
			out = append(out, f.Skill)
		}
	}
	return out[:min(len(out), limit)], len(out), nil
}

// shown is a description that is safe to read; the skill of one that is not is
// quarantined.
func (l *Library) shown(ctx context.Context, ws int64, h skill.Head) string {
	text, bad := sanitised(h.ID, h.Description, nil)
	if !bad {
		return text
	}
	var v skill.Version
	err := l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
		v, err = tx.Versions().Version(ctx, h.ID, h.Version)
		return err
	})
	if err != nil {
		return text
	}
	if text, bad = sanitised(h.ID, h.Description, v.Risk); bad {
		_, _ = l.quarantine(ctx, ws, h.ID) // the notice stands whether or not this could be written
	}
	return text
}
