package library

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Diff returns the changes between two versions of a skill as a unified diff of SKILL.md and every
// file. If to is 0, it is the head. If from is 0, it is the base version of to.
func (l *Library) Diff(ctx context.Context, ws, id int64, from, to int) (string, error) {
	var a, b skill.Version
	err := l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := tx.Skills().SkillHead(ctx, id)
		if err != nil {
			return err
		}
		if to == 0 {
			to = head.Version
		}
		if b, err = tx.Skills().Version(ctx, id, to); err != nil {
			return err
		}
		if from == 0 {
			from = b.Base
		}
		if from == 0 { // first version: everything is new
			return nil
		}
		a, err = tx.Skills().Version(ctx, id, from)
		return err
	})
	if err != nil {
		return "", err
	}
	return Unified(l.texts(a), l.texts(b), fmt.Sprintf("v%d", from), fmt.Sprintf("v%d", to)), nil
}

// texts returns the files of a version by path, including SKILL.md.
func (l *Library) texts(v skill.Version) map[string]string {
	out := map[string]string{}
	if v.Number == 0 && v.Body == "" {
		return out
	}
	out["SKILL.md"] = string(skill.Compose(v.Name, v.Description, []byte(v.Body),
		skill.RenderOptions{NameStyle: l.NameStyle}))
	for _, f := range v.Files {
		out[f.Path] = f.Content
	}
	for _, e := range v.Extra { // may be binary: show only that they changed
		out[e.Path] = fmt.Sprintf("%d bytes, SHA-256 %x\n", e.Bytes, e.SHA)
	}
	return out
}

// Unified returns the unified diff of two sets of files, by path.
func Unified(a, b map[string]string, nameA, nameB string) string {
	paths := map[string]bool{}
	for p := range a {
		paths[p] = true
	}
	for p := range b {
		paths[p] = true
	}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		out.WriteString(udiff.Unified(nameA+"/"+p, nameB+"/"+p, a[p], b[p]))
	}
	return out.String()
}
