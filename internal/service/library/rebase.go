package library

import (
	"context"
	"fmt"
	"slices"

	"github.com/aymanbagabas/go-udiff"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// rebased applies a proposed change to a head that has changed since. It changes only what the
// proposal changed. It returns an error if both changed the same part.
func (l *Library) rebased(ctx context.Context, ws int64, p skill.Pending, head skill.Head) (v skill.Version,
	err error) {
	var base, now skill.Version
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if base, err = tx.Skills().Version(ctx, p.Skill, p.Base); err != nil {
			return err
		}
		now, err = tx.Skills().Version(ctx, p.Skill, head.Version)
		return err
	})
	if err != nil {
		return v, err
	}
	if v, err = rebase(base, now, p.Version); err != nil {
		return v, err
	}
	v.SkillID, v.Number, v.Base = p.Skill, head.Version+1, head.Version
	v.ContentSHA = skill.ContentHash(v.Document(), v.Files)
	return v, l.pack(ctx, ws, &v, now.PackageKey)
}

func rebase(base, now, wanted skill.Version) (skill.Version, error) {
	out := wanted
	var clash string
	three := func(part, base, now, wanted string) string {
		switch {
		case wanted == base || wanted == now:
			return now
		case now == base:
			return wanted
		}
		clash = part
		return ""
	}
	out.Description = three("description", base.Description, now.Description, wanted.Description)
	out.Category = three("category", base.Category, now.Category, wanted.Category)
	switch same := func(a, b skill.Version) bool {
		return slices.Equal(a.Files, b.Files) && slices.Equal(a.Extra, b.Extra)
	}; {
	case same(wanted, base):
		out.Files, out.Extra = now.Files, now.Extra
	case !same(now, base):
		clash = "files"
	case len(wanted.Extra) > 0: // they are in the package of the base version
		clash = "files"
	}
	edits, ok := udiff.Merge(udiff.Lines(base.Body, now.Body), udiff.Lines(base.Body, wanted.Body))
	if !ok {
		clash = "content"
	}
	if clash != "" {
		return out, fault.New(fault.VersionConflict,
			fmt.Sprintf("the change is based on version %d, and its %s has changed since", base.Number, clash),
			"edit it and approve your text, or reject it").With("current_version", now.Number)
	}
	body, err := udiff.Apply(base.Body, edits)
	if err != nil {
		return out, fmt.Errorf("join a proposed change with version %d: %w", now.Number, err)
	}
	out.Body = body
	if _, was := skill.CheckShape(now.Body); was == nil {
		if _, err := skill.CheckShape(body); err != nil {
			return out, err
		}
	}
	return out, nil
}
