package library

import (
	"context"
	"fmt"
	"path"

	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Package returns the zip of a version; 0 means the head. If style differs from the stored name
// style, the zip is built again.
func (l *Library) Package(ctx context.Context, ws, id int64, number int, style string) (name string, archive []byte,
	v skill.Version, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := tx.Skills().SkillHead(ctx, id)
		if err != nil {
			return err
		}
		if number == 0 {
			number = head.Version
		}
		v, err = tx.Skills().Version(ctx, id, number)
		return err
	})
	if err != nil {
		return "", nil, v, err
	}
	folder := skill.Folder(v.Name, style)
	asMade := style == "" || path.Base(v.PackageKey) == folder+".zip"
	if asMade || len(v.Extra) > 0 {
		archive, err = l.Blobs.Get(ctx, v.PackageKey)
	}
	if err != nil || asMade {
		return path.Base(v.PackageKey), archive, v, err
	}
	var extra []skill.File
	if len(v.Extra) > 0 {
		if extra, err = skill.ReadExtras(archive); err != nil {
			return "", nil, v, err
		}
	}
	markdown := skill.Compose(v.Name, v.Description, []byte(v.Body), skill.RenderOptions{NameStyle: style})
	archive, err = skill.Zip(folder, markdown, v.Files, extra...)
	return folder + ".zip", archive, v, err
}

// pack builds and uploads the package of a version, so that the commit only refers to it. It copies
// the other files of the previous package.
func (l *Library) pack(ctx context.Context, ws int64, v *skill.Version, before string) error {
	var extra []skill.File
	if len(v.Extra) > 0 {
		archive, err := l.Blobs.Get(ctx, before)
		if err != nil {
			return fmt.Errorf("fetch the package of version %d: %w", v.Base, err)
		}
		if extra, err = skill.ReadExtras(archive); err != nil {
			return err
		}
	}
	archive, markdown, err := v.Pack(ws, l.NameStyle, extra...)
	if err != nil {
		return err
	}
	return l.upload(ctx, ws, *v, archive, markdown)
}
