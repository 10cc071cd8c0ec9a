package distill

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/review"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Pack converts a task's draft and files into a version on the current head, renders it, zips it
// and uploads the zip. It may be repeated until the commit; the last package is used. Unseen is
// true, and nothing is done, if the draft's model has not seen that head: call Merge first.
func (s *Service) Pack(ctx context.Context, ref run.Ref, key string) (unseen bool, err error) {
	_, t, made, unseen, err := s.pack(ctx, ref, key)
	if err != nil || unseen || t.Stage == distillation.EndedTask {
		return unseen, err
	}
	if err := s.upload(ctx, *t.Package, made); err != nil {
		return false, err
	}
	return false, s.discardErased(ctx, t, nil)
}

// pack is Pack without the upload.
func (s *Service) pack(ctx context.Context, ref run.Ref, key string) (j job, t distillation.Task, made packageBytes,
	unseen bool,
	err error) {
	var written []distillation.WrittenFile
	j, t, err = s.loadTask(ctx, ref, key, func(ctx context.Context, tx store.Tx, _ job,
		t distillation.Task) (err error) {
		written, err = tx.Tasks().Written(ctx, t)
		return err
	})
	if err != nil || t.Stage == distillation.EndedTask {
		return j, t, made, false, err
	}
	if t.Draft == nil {
		return j, t, made, false, fmt.Errorf("package task %s: no draft", key)
	}
	for i, w := range written {
		written[i].Content = j.private.cleanFile(w)
	}
	files, degraded, violations := attach(*t.Draft, written)
	fresh := j.newDocument(*t.Draft)
	vector := s.embed(ctx, ref.Workspace, fresh.SearchText())
	var p distillation.Package
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		p, unseen, err = s.rebase(ctx, tx, j, t, fresh, files, vector)
		return err
	})
	if errors.Is(err, errNoSkill) {
		t = t.Skipped("a failed conversation can add lessons to a skill but not create one")
		return j, t, made, false, s.endTask(ctx, t, t.Outcome, t.Reason)
	}
	if err != nil || unseen {
		return j, t, made, unseen, err
	}
	v := &p.Version
	v.Degraded, v.Violations = degraded, append(violations, v.Violations...)
	v.Run, v.TaskKey, v.Lang, v.Origin = ref.Run, t.Key, t.Lang, originDistill
	v.Model, v.PromptSHA = j.spec.Models["extract"],
		prompt.Hash(j.spec.Instructions[instructionKey(prompt.Extract, t.Lang)])
	v.Redactions, v.Quality = j.private.redactions, t.Quality
	v.Sources = skill.Ranges(j.run.Conversation, t.Draft.Evidence)
	extra, err := s.carry(ctx, &p)
	if err != nil {
		return j, t, made, false, err
	}
	if made.archive, made.markdown, err = v.Pack(ref.Workspace, j.spec.NameStyle, extra...); err != nil {
		return j, t, made, false, err
	}
	p.Bytes, t.Package = len(made.archive), &p
	return j, t, made, false, s.record(ctx, t)
}

// record stores a task's package as pending before the upload, so that garbage collection and
// erasure know its objects.
func (s *Service) record(ctx context.Context, t distillation.Task) error {
	return s.Store.InWorkspaceByKeys(ctx, t.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		held, err := tx.Tasks().HoldTask(ctx, t)
		if err == nil && !held {
			err = fault.New(fault.Unavailable, "task has ended or was erased", "")
		}
		if err != nil {
			return err
		}
		p := t.Package
		if err := tx.Packages().TouchPackage(ctx, p.Version.PackageSHA, p.Version.PackageKey, p.Bytes); err != nil {
			return err
		}
		return tx.Tasks().SavePackage(ctx, t)
	})
}

// discardErased deletes the uploaded objects of a package if it or its task was erased during the
// upload. It returns cause, if set.
func (s *Service) discardErased(ctx context.Context, t distillation.Task, cause error) error {
	ctx = context.WithoutCancel(ctx)
	ws, sha := t.Ref.Workspace, t.Package.Version.PackageSHA
	erased := false
	err := s.Store.InWorkspaceByKeys(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		erased, err = tx.Packages().AbandonPackage(ctx, t)
		return err
	})
	gone := fault.CodeOf(err) == fault.Erasing || fault.CodeOf(err) == fault.NotFound // the workspace was erased
	if err != nil && !gone {
		return errors.Join(cause, err)
	}
	if !gone && !erased {
		return cause
	}
	for _, object := range PackageObjects(t.Package.Version.PackageKey) {
		if err := s.Blobs.Delete(ctx, object); err != nil {
			return errors.Join(cause, err)
		}
	}
	if gone {
		return cause
	}
	err = s.Store.InWorkspaceByKeys(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		return tx.Packages().ForgetPackage(ctx, sha)
	})
	return errors.Join(cause, err)
}

// errNoSkill means that there is no skill to which the lessons of a draft belong.
var errNoSkill = errors.New("no skill to add lessons to")

// originDistill is the origin of versions that distillation writes.
const originDistill = "distill"

// attach builds the file list from the plan and the written files.
func attach(d skill.Draft, written []distillation.WrittenFile) (files []skill.File, degraded, violations []string) {
	reasons := map[string]string{}
	for kind, plan := range map[string][]skill.FilePlan{distillation.Scripts: d.Scripts,
		distillation.Reference: d.Others} {
		returned := map[string]string{}
		for _, w := range written {
			if w.Kind != kind {
				continue
			}
			if w.Reason != "" {
				reasons[path.Join(kind, w.Name)] = w.Reason
				continue
			}
			returned[w.Name] = w.Content
		}
		f, missing, refused := skill.Attach(plan, returned, kind)
		files, degraded, violations = append(files, f...), append(degraded, missing...), append(violations, refused...)
	}
	for i, line := range degraded {
		name, _, _ := strings.Cut(line, ": ")
		if reason := reasons[name]; reason != "" {
			degraded[i] = name + ": " + reason
		}
	}
	slices.Sort(degraded) // degraded has two kinds of files in no order
	slices.Sort(violations)
	return files, degraded, violations
}

// rebase decides to which skill the draft belongs and joins it with that skill's head. The model
// only proposes a target. A head that the model has not seen is unseen.
func (s *Service) rebase(ctx context.Context, tx store.Tx, j job, t distillation.Task, fresh skill.Document,
	files []skill.File, vector search.Vector) (p distillation.Package, unseen bool, err error) {
	head, free, err := s.target(ctx, tx, j, t, fresh, vector)
	if err != nil {
		return distillation.Package{}, false, err
	}
	if head == nil && j.lessonsOnly() {
		return distillation.Package{}, false, errNoSkill
	}
	if head == nil {
		if err := t.Draft.Complete(); err != nil { // an update of a skill that no longer exists
			return p, false, fault.Wrap(err, fault.ModelInvalid, "the draft is not a complete skill", "")
		}
		name := skill.Canonical(fresh.Name)
		if !free {
			if name, err = freeName(ctx, tx, name); err != nil {
				return distillation.Package{}, false, err
			}
		}
		carried, violations := skill.CarryOver(nil, files)
		doc, violations, err := fitted(fresh.WithFiles(carried), violations)
		if err != nil {
			return distillation.Package{}, false, err
		}
		p = distillation.Package{Version: versionOf(name, doc, carried, 1, 0, "", violations)}
		p.Version.Risk = riskOf(p.Version, skill.Version{})
		p.Version.Findings = j.findings(t, skill.Version{}, p.Version, nil)
		p.State = stateOf(p.Version.Findings, j.spec.Approval)
		return p, false, nil
	}
	if t.Based != (distillation.Base{Skill: head.ID, Version: head.Version}) {
		return distillation.Package{}, true, nil
	}
	current, err := tx.Skills().Version(ctx, head.ID, head.Version)
	if err != nil {
		return distillation.Package{}, false, err
	}
	merged := skill.Merge(current.Document(), current.Files, *t.Draft)
	carried, violations := skill.CarryOver(merged.Files, files)
	doc, violations, err := fitted(merged.Document.WithFiles(carried), violations)
	if err != nil {
		return distillation.Package{}, false, err
	}
	p = distillation.Package{Skill: head.ID, Base: head.Version,
		Version: versionOf(head.Name, doc, carried, head.Version+1, head.Version, merged.Summary, violations)}
	p.Version.Category = current.Category
	p.Version.Risk = riskOf(p.Version, current)
	held, err := heldOut(ctx, tx, j, head.ID)
	if err != nil {
		return distillation.Package{}, false, err
	}
	p.Version.Findings = append(j.findings(t, current, p.Version, head), review.HeldOut(current, p.Version, held)...)
	p.State = stateOf(p.Version.Findings, j.spec.Approval)
	p.Active = head.Status == skill.Active
	p.Staged = p.Active && p.State != skill.Active
	p.Version.Extra, p.BasePackage = current.Extra, current.PackageKey
	p.Same = p.Version.ContentSHA == current.ContentSHA
	if p.Same {
		p.Version.ChangeSummary = "adds nothing to the skill"
	}
	p.Version.Violations = append(p.Version.Violations, merged.Flags...)
	return p, false, nil
}

// target returns the skill to update: the one that the draft was written on, one of the same name,
// or one with high similarity. It returns nil to create a skill; free then reports that the name is
// unused.
func (s *Service) target(ctx context.Context, tx store.Tx, j job, t distillation.Task, fresh skill.Document,
	vector search.Vector) (head *skill.Head, free bool, err error) {
	if t.Based.Skill != 0 {
		head, err = usableHead(ctx, tx, t.Based.Skill)
		return head, false, err
	}
	named, err := tx.Skills().SkillNamed(ctx, skill.Canonical(fresh.Name))
	if err == nil && usable(&named) != nil {
		return &named, false, nil
	}
	free = isNotFound(err)
	if err != nil && !free {
		return nil, false, err
	}
	hits, err := tx.Documents().Search(ctx, skillQuery(fresh.SearchText(), vector, j.spec.Limits.RecallTopK+1))
	if err != nil {
		return nil, false, err
	}
	for _, h := range hits {
		if h.Cosine >= j.spec.Limits.MergeSim {
			head, err = usableHead(ctx, tx, h.Owner)
			return head, free, err
		}
	}
	return nil, free, nil
}

// usableHead returns the skill with the given ID if distillation may change it. It returns nil if
// not, or if the skill was deleted.
func usableHead(ctx context.Context, tx store.Tx, id int64) (*skill.Head, error) {
	head, err := tx.Skills().SkillHead(ctx, id)
	if isNotFound(err) {
		return nil, nil
	}
	return usable(&head), err
}

// usable returns h if distillation may change it, else nil.
func usable(h *skill.Head) *skill.Head {
	if h.Status != skill.Active && h.Status != skill.Candidate && h.Status != skill.DraftStatus {
		return nil
	}
	return h
}

// freeName returns name, or its first numbered variant that no skill has. Archived skills keep their
// names.
func freeName(ctx context.Context, tx store.Tx, name string) (string, error) {
	for n := 1; ; n++ {
		candidate := name
		if n > 1 {
			candidate = skill.Numbered(name, n)
		}
		if _, err := tx.Skills().SkillNamed(ctx, candidate); isNotFound(err) {
			return candidate, nil
		} else if err != nil {
			return "", err
		}
	}
}

// packageBytes holds the zip and the SKILL.md of a package.
type packageBytes struct{ archive, markdown []byte }

// upload stores the bytes of p.
func (s *Service) upload(ctx context.Context, p distillation.Package, made packageBytes) error {
	puts, ctx := errgroup.WithContext(ctx)
	puts.Go(func() error { return s.Blobs.Put(ctx, markdownKey(p.Version.PackageKey), made.markdown) })
	puts.Go(func() error { return s.Blobs.Put(ctx, p.Version.PackageKey, made.archive) })
	if err := puts.Wait(); err != nil {
		return fmt.Errorf("store the package: %w", err)
	}
	return nil
}

// carry copies files of the previous package other than SKILL.md, scripts and references into this
// one. It records files that exceed the size limits.
func (s *Service) carry(ctx context.Context, p *distillation.Package) ([]skill.File, error) {
	if len(p.Version.Extra) == 0 {
		return nil, nil
	}
	archive, err := s.Blobs.Get(ctx, p.BasePackage)
	if err != nil {
		return nil, fmt.Errorf("fetch the package of version %d: %w", p.Base, err)
	}
	extra, err := skill.ReadExtras(archive)
	if err != nil {
		return nil, err
	}
	kept, violations := skill.CarryExtras(p.Version.Files, extra)
	p.Version.Extra, p.Version.Violations = skill.Extras(kept), append(p.Version.Violations, violations...)
	return kept, nil
}

// markdownKey returns the key of the separate SKILL.md next to a package.
func markdownKey(key string) string { return path.Join(path.Dir(key), "SKILL.md") }

// PackageObjects returns the keys of the objects of a package.
func PackageObjects(key string) []string { return []string{key, markdownKey(key)} }
