package library

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/index"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// ImportResult is the result of an import.
type ImportResult struct {
	Head    skill.Head `json:"skill"`
	Pending int64      `json:"pending,omitempty"` // pending change, if the skill existed
	Same    bool       `json:"same,omitempty"`    // the skill already has this content
}

// Import imports a package and keeps its bytes unchanged. A new skill becomes a candidate, and a
// change of an existing skill becomes pending. With trust, both take effect at once, unless trust does
// not override the blocking findings.
func (l *Library) Import(ctx context.Context, ws int64, archive []byte, origin string,
	trust *approval.Override) (out ImportResult, err error) {
	release, err := decoding.Begin(ctx, len(archive)+skill.MaxPackage) // and what it inflates to
	if err != nil {
		return out, err
	}
	u, err := skill.Unpack(archive)
	release()
	if err != nil {
		return out, err
	}
	v := skill.Version{Name: skill.Canonical(u.Document.Name), DisplayName: u.Document.Name,
		Description: u.Document.Description, Body: string(skill.RenderBody(u.Document)), Lang: lang.Detect(u.Markdown),
		Files: u.Files, Op: skill.OpUpdate, ContentSHA: skill.ContentHash(u.Document, u.Files), Origin: origin,
		ChangeSummary: "imported", Violations: u.Notes}
	v.Risk, v.Extra = riskOf(u), skill.Extras(u.Carried())
	v.Packed(ws, archive, l.NameStyle)
	if err := l.upload(ctx, ws, v, archive, []byte(u.Markdown)); err != nil {
		return out, err
	}
	text := v.SearchText()
	vector := l.embed(ctx, ws, text)
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Skills().LockSkills(ctx); err != nil {
			return err
		}
		head, err := tx.Skills().SkillNamed(ctx, v.Name)
		if fault.CodeOf(err) == fault.NotFound {
			status := skill.Candidate
			note, err := trusted(trust, review.Changes(skill.Version{}, v))
			if err != nil {
				return err
			}
			if trust != nil {
				status = skill.Active
			}
			if err := tx.Packages().PublishPackage(ctx, v.PackageSHA); err != nil {
				return err
			}
			id, err := tx.Skills().CreateSkill(ctx, v, status,
				index.NewDoc(index.KindSkill, 0, string(status), text), vector.Values, vector.Space)
			if err != nil {
				return err
			}
			if out.Head, err = tx.Skills().SkillHead(ctx, id); err != nil {
				return err
			}
			return record(ctx, tx, audit.SkillImport, id, note)
		}
		if err != nil {
			return err
		}
		return l.importInto(ctx, tx, head.ID, v, trust, &out)
	})
	return out, err
}

// trusted checks the override of a trusted import and describes it for the audit log.
func trusted(trust *approval.Override, findings []approval.Finding) (note string, err error) {
	if trust == nil {
		return "", nil
	}
	d := approval.Decision{Override: *trust}
	return d.Note(), d.Check("", findings)
}

// riskOf scans all text of an upload that is read or run, including files that no section shows. In the bytes
// of a font or an archive, patterns match by chance.
func riskOf(u skill.UnpackedPackage) []string {
	files := map[string]string{}
	for _, f := range slices.Concat(u.Files, u.Extra) {
		if !skill.Binary(f.Path) {
			files[f.Path] = f.Content
		}
	}
	return guard.CheckSkill(map[string]string{"SKILL.md": u.Markdown}, files).Risk
}

// importInto adds an upload to an existing skill, as a version or a pending change.
func (l *Library) importInto(ctx context.Context, tx store.Tx, id int64, v skill.Version, trust *approval.Override,
	out *ImportResult) (err error) {
	if out.Head, err = tx.Skills().SkillHead(ctx, id); err != nil {
		return err
	}
	current, err := tx.Skills().Version(ctx, id, out.Head.Version)
	if err != nil {
		return err
	}
	if current.ContentSHA == v.ContentSHA && slices.Equal(current.Extra, v.Extra) {
		out.Same = true
		return nil
	}
	v.Category = current.Category
	note, err := trusted(trust, review.Changes(current, v))
	if err != nil {
		return err
	}
	if err := record(ctx, tx, audit.SkillImport, id, note); err != nil {
		return err
	}
	if trust != nil {
		out.Head, err = l.advance(ctx, tx, out.Head, v)
		return err
	}
	// protects the pending package from collection
	if err := tx.Packages().PublishPackage(ctx, v.PackageSHA); err != nil {
		return err
	}
	out.Pending, err = tx.PendingSkills().PutPending(ctx,
		skill.Pending{Skill: id, Base: out.Head.Version, Version: v, Reason: "upload", Origin: v.Origin,
			Gist: l.gist(current, v)})
	return err
}

// upload records the package as pending, then stores its bytes and a separate SKILL.md. Packages
// that are never committed are collected.
func (l *Library) upload(ctx context.Context, ws int64, v skill.Version, archive, markdown []byte) error {
	record := func(ctx context.Context, tx store.Tx) error {
		return tx.Packages().TouchPackage(ctx, v.PackageSHA, v.PackageKey, len(archive))
	}
	if err := l.Store.InWorkspace(ctx, ws, record); err != nil {
		return err
	}
	mdKey := path.Join(path.Dir(v.PackageKey), "SKILL.md")
	if err := l.Blobs.Put(ctx, mdKey, markdown); err != nil {
		return fmt.Errorf("store SKILL.md: %w", err)
	}
	if err := l.Blobs.Put(ctx, v.PackageKey, archive); err != nil {
		return fmt.Errorf("store the package: %w", err)
	}
	err := l.Store.InWorkspace(ctx, ws, record)
	if code := fault.CodeOf(err); code != fault.Erasing && code != fault.NotFound {
		return err
	}
	// The workspace was erased in the meantime, and nothing else refers to the bytes.
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, l.Blobs.Delete(ctx, mdKey), l.Blobs.Delete(ctx, v.PackageKey))
}
