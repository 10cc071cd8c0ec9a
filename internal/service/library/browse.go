package library

import (
	"cmp"
	"context"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// BrowseArgs are the arguments of Browse.
type BrowseArgs struct {
	Query           string `json:"query,omitempty" jsonschema:"task that the skill should help with; best match first"`
	Category        string `json:"category,omitempty" jsonschema:"only skills of this category"`
	IncludeArchived bool   `json:"include_archived,omitempty" jsonschema:"include archived skills"`
	Limit           int    `json:"limit,omitempty" jsonschema:"maximum number of skills"`
	Cursor          string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous page"`
}

// SkillSummary is a skill in a list, with enough data to decide whether to view it.
type SkillSummary struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Category    *string `json:"category"`
}

// ListResult is a page of skills.
type ListResult struct {
	Skills     []SkillSummary `json:"skills"`
	Categories []string       `json:"categories" jsonschema:"categories of all skills"`
	Count      int            `json:"count"`
	Total      int            `json:"total" jsonschema:"number of matching skills"`
	NextCursor string         `json:"next_cursor,omitempty"`
	Hint       string         `json:"hint"`
}

// Browse lists skills by category and name or, with a query, best match first. It counts no use and
// returns no bodies.
func (l *Library) Browse(ctx context.Context, a agent.Actor, in BrowseArgs) (out ListResult, err error) {
	statuses := []skill.Status{skill.Active, skill.Stale}
	if in.IncludeArchived {
		statuses = append(statuses, skill.Archived)
	}
	var counts []skill.CategoryCount
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
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
		if !a.Origin.Autonomous() {
			l.Listed(ctx, a.Workspace, heads)
		}
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
	out.Count, out.Hint = len(out.Skills), "read a skill with skill_view before you use or change it"
	if out.Total == 0 {
		out.Hint = "no skill matches; create one with skill_save"
	}
	return out, nil
}

// answering returns a page of the skills that match the query, and the number of matches.
func (l *Library) answering(ctx context.Context, ws int64, in BrowseArgs, statuses []skill.Status) (out []skill.Head,
	total int, err error) {
	if in.Cursor != "" {
		return nil, 0, fault.New(fault.InvalidArgument, "a query has no further pages",
			"omit cursor, or increase limit")
	}
	limit := cmp.Or(in.Limit, ListedAtOnce)
	looked := limit
	if in.Category != "" { // other categories may rank higher, so read all matches
		looked = MaxListed
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

// Listed counts an impression of each skill that a search for a task has listed. It ignores errors, so
// that a search never fails because of the count.
func (l *Library) Listed(ctx context.Context, ws int64, heads []skill.Head) {
	if len(heads) == 0 {
		return
	}
	ids := make([]int64, len(heads))
	for i, h := range heads {
		ids[i] = h.ID
	}
	_ = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		return tx.Skills().Listed(ctx, ids)
	})
}

// shown returns the description if it is safe to show. Otherwise it quarantines the skill and
// returns a notice.
func (l *Library) shown(ctx context.Context, ws int64, h skill.Head) string {
	text, bad := sanitised(h.ID, h.Description, nil)
	if !bad {
		return text
	}
	var v skill.Version
	err := l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		v, err = tx.Skills().Version(ctx, h.ID, h.Version)
		return err
	})
	if err != nil {
		return text
	}
	if text, bad = sanitised(h.ID, h.Description, v.Risk); bad {
		_, _ = l.quarantine(ctx, ws, h.ID) // the notice is shown even if the quarantine fails
	}
	return text
}
