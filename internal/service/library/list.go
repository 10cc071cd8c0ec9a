package library

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

const (
	// ListedAtOnce is the default length of a page.
	ListedAtOnce = 100
	// MaxListed is the maximum length of a page.
	MaxListed = 200
)

// Filter selects skills and a page.
type Filter struct {
	Statuses []skill.Status // empty selects active, candidate and draft
	Category string         // empty selects all
	Holds    string         // text in the name or description, case-insensitive
	Limit    int            // 1–MaxListed; 0 means ListedAtOnce
	Cursor   string         // of the previous page; empty for the first
}

// Page is a page of a list. Next is the cursor of the next page, empty on the last one.
type Page struct {
	Skills []skill.Head
	Next   string
}

// List returns a page of skills by category, then by name. The cursor is a position, not a count,
// so changes between two pages neither skip nor repeat skills.
func (l *Library) List(ctx context.Context, ws int64, f Filter) (out Page, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = ListedAtOnce
	}
	if limit < 1 || limit > MaxListed {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid limit: must be 1 to %d, got %d", MaxListed, f.Limit),
			"use a smaller limit, and continue with the cursor")
	}
	// One more skill shows whether another page follows.
	listing := skill.Listing{Statuses: f.Statuses, Category: f.Category, Holds: strings.TrimSpace(f.Holds),
		Max: limit + 1}
	if len(listing.Statuses) == 0 {
		listing.Statuses = []skill.Status{skill.Active, skill.Candidate, skill.DraftStatus}
	}
	if listing.After, err = placeOf(f.Cursor); err != nil {
		return out, err
	}
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out.Skills, err = tx.Skills().Skills(ctx, listing)
		return err
	})
	if err == nil && len(out.Skills) > limit {
		out.Skills = out.Skills[:limit]
		last := out.Skills[limit-1]
		out.Next, err = skill.ListPlace{Category: last.Category, Name: last.Name}.Cursor()
	}
	return out, err
}

func placeOf(cursor string) (p skill.ListPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Name == "" || strings.ContainsRune(p.Category+p.Name, 0) {
		return skill.ListPlace{}, fault.New(fault.InvalidArgument, "invalid cursor",
			"send next_cursor of the previous page unchanged, or no cursor for the first page")
	}
	return p, nil
}
