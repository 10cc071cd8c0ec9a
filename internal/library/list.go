package library

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"cairn/internal/agent"
	"cairn/internal/fault"
	"cairn/internal/skill"
)

// ListArgs say which skills are wanted.
type ListArgs struct {
	Query           string `json:"query,omitempty" jsonschema:"what the skill should help with; the best come first"`
	Category        string `json:"category,omitempty" jsonschema:"only skills of this category"`
	IncludeArchived bool   `json:"include_archived,omitempty" jsonschema:"also what is out of use"`
	Limit           int    `json:"limit,omitempty" jsonschema:"how many at most"`
	Cursor          string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

// Listed is a skill in a list: enough to decide whether to view it.
type Listed struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Category    *string `json:"category"`
}

// Listing is a part of the skills.
type Listing struct {
	Skills     []Listed `json:"skills"`
	Categories []string `json:"categories" jsonschema:"of all skills"`
	Count      int      `json:"count"`
	Total      int      `json:"total" jsonschema:"that fit"`
	NextCursor string   `json:"next_cursor,omitempty"`
	Hint       string   `json:"hint"`
}

const (
	defaultListed = 100
	mostSkills    = 10_000 // read for one list; the quota keeps them far below
)

// List lists skills by category and name, or what answers a query, the best
// first. It counts no use and shows no bodies.
func (l *Library) List(ctx context.Context, a agent.Actor, in ListArgs) (out Listing, err error) {
	var all []skill.Head
	err = l.Store.WithLibrary(ctx, a.Workspace, func(tx Tx) error {
		all, err = tx.Skills(ctx, true, mostSkills)
		return err
	})
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(h skill.Head) bool {
		return h.Status != skill.Active && h.Status != skill.Stale && !(in.IncludeArchived && h.Status == skill.Archived)
	})
	out.Categories = categories(all)
	fit := all
	if strings.TrimSpace(in.Query) != "" {
		if fit, err = l.answering(ctx, a.Workspace, in, all); err != nil {
			return out, err
		}
	} else {
		slices.SortFunc(fit, func(a, b skill.Head) int { return strings.Compare(position(a), position(b)) })
	}
	if in.Category != "" {
		fit = slices.DeleteFunc(slices.Clone(fit), func(h skill.Head) bool { return h.Category != in.Category })
	}
	out.Total = len(fit)
	if err := l.page(ctx, a, in, fit, &out); err != nil {
		return out, err
	}
	out.Count, out.Hint = len(out.Skills), "read one with skill_view before you use or change it"
	if out.Total == 0 {
		out.Hint = "nothing fits; a skill can be made with skill_save"
	}
	return out, nil
}

// answering are the skills that answer the query. What the index does not hold,
// since it is out of use, is found by its words.
func (l *Library) answering(ctx context.Context, ws int64, in ListArgs, all []skill.Head) ([]skill.Head, error) {
	found, err := l.Finder.Skills(ctx, ws, in.Query, cmp.Or(in.Limit, defaultListed))
	if err != nil {
		return nil, err
	}
	var out []skill.Head
	for _, f := range found {
		out = append(out, f.Skill)
	}
	for _, h := range all {
		if h.Status != skill.Active && strings.Contains(strings.ToLower(h.Name+"\n"+h.Description), strings.ToLower(strings.TrimSpace(in.Query))) {
			out = append(out, h)
		}
	}
	return out, nil
}

// page shows the skills after the cursor. Ranked answers are one page.
func (l *Library) page(ctx context.Context, a agent.Actor, in ListArgs, fit []skill.Head, out *Listing) error {
	ranked := strings.TrimSpace(in.Query) != ""
	after := ""
	if in.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		if err != nil || ranked {
			return fault.New(fault.InvalidArgument, "the cursor is none that a list of this kind gave", "leave cursor out to begin with the first")
		}
		after = string(raw)
	}
	limit := cmp.Or(in.Limit, defaultListed)
	out.Skills = []Listed{}
	for _, h := range fit {
		if after != "" && position(h) <= after {
			continue
		}
		if len(out.Skills) == limit {
			if !ranked {
				out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(after))
			}
			return nil
		}
		if !ranked {
			after = position(h)
		}
		description := h.Description
		if a.Origin != agent.OriginUser {
			description = l.shown(ctx, a.Workspace, h)
		}
		out.Skills = append(out.Skills, Listed{Name: h.Name, Description: description, Category: category(h.Category)})
	}
	return nil
}

// shown is a description that is safe to read; the skill of one that is not is
// quarantined.
func (l *Library) shown(ctx context.Context, ws int64, h skill.Head) string {
	text, bad := sanitised(h.ID, h.Description, nil)
	if !bad {
		return text
	}
	var v skill.Version
	err := l.Store.WithLibrary(ctx, ws, func(tx Tx) (err error) {
		v, err = tx.Version(ctx, h.ID, h.Version)
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

// position orders skills: those without a category first, then by category and name.
func position(h skill.Head) string { return h.Category + "\x00" + h.Name }

func categories(all []skill.Head) []string {
	out := []string{}
	for _, h := range all {
		if h.Category != "" {
			out = append(out, h.Category)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
