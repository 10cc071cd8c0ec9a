package library

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

const (
	// ListedAtOnce is the length of a page that nobody has named one for.
	ListedAtOnce = 100
	// MostListed is the longest page.
	MostListed = 200
)

// Filter says which skills a list shows, and which page of it.
type Filter struct {
	Statuses []skill.Status // none for those that are in use or wait: active, candidate and draft
	Category string         // none for all
	Holds    string         // in the name or the description, in any case
	Limit    int            // 1–MostListed; 0 for ListedAtOnce
	Cursor   string         // of the page before; empty for the first
}

// Page is a part of a list. Next is the cursor of the page after it, empty when
// there is none.
type Page struct {
	Skills []skill.Head
	Next   string
}

// Listing is a page as the store reads it: Max skills after a place.
type Listing struct {
	Statuses []skill.Status
	Category string
	Holds    string
	After    Place
	Max      int
}

// Place is where a skill stands in lists: those without a category come first.
type Place struct {
	Category string `json:"c,omitempty"`
	Name     string `json:"n"`
}

// List shows a page of skills by category, then by name. A cursor is a place and
// no count: what was made or archived between two pages shifts neither.
func (l *Library) List(ctx context.Context, ws int64, f Filter) (out Page, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = ListedAtOnce
	}
	if limit < 1 || limit > MostListed {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("a page has 1 to %d skills, not %d", MostListed, f.Limit),
			"ask for less, and go on with the cursor")
	}
	// one more tells whether there is another page
	listing := Listing{Statuses: f.Statuses, Category: f.Category, Holds: strings.TrimSpace(f.Holds), Max: limit + 1}
	if len(listing.Statuses) == 0 {
		listing.Statuses = []skill.Status{skill.Active, skill.Candidate, skill.DraftStatus}
	}
	if listing.After, err = placeOf(f.Cursor); err != nil {
		return out, err
	}
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		out.Skills, err = tx.Skills().Skills(ctx, listing)
		return err
	})
	if err == nil && len(out.Skills) > limit {
		out.Skills = out.Skills[:limit]
		last := out.Skills[limit-1]
		out.Next, err = Place{last.Category, last.Name}.cursor()
	}
	return out, err
}

func (p Place) cursor() (string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write the cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func placeOf(cursor string) (p Place, err error) {
	if cursor == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Name == "" || strings.ContainsRune(p.Category+p.Name, 0) {
		return Place{}, fault.New(fault.InvalidArgument, "the cursor is none of ours",
			"send the next_cursor of the page before as it came, or none for the first page")
	}
	return p, nil
}
