package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// Skills lists a page of skills in the order of their categories and names.
func (q SkillRepository) Skills(ctx context.Context, l skill.Listing) ([]skill.Head, error) {
	rows, err := q.q.SkillsPage(ctx, dbsqlc.SkillsPageParams{WorkspaceID: q.ws, States: statusNames(l.Statuses),
		Category: storable(l.Category), Holds: storable(l.Holds),
		AfterCategory: l.After.Category, AfterName: l.After.Name, MaxRows: int32(l.Max)})
	if err != nil {
		return nil, classify("list the skills", err)
	}
	out := make([]skill.Head, len(rows))
	for i, r := range rows {
		out[i] = skill.Head{
			ID:          r.ID,
			Name:        r.Name,
			Category:    r.Category,
			Status:      skill.Status(r.Status),
			Version:     int(r.HeadVersion),
			Pinned:      r.Pinned,
			Managed:     r.Managed,
			Tainted:     r.Tainted,
			Origin:      r.Origin,
			Description: r.Description,
			Lang:        r.Lang,
			Degraded:    r.Degraded,
			PackageKey:  r.PackageKey,
			Eta:         r.Eta,
			Uses:        r.Uses,
			Impressions: r.Impressions,
			CreatedAt:   r.CreatedAt,
			UpdatedAt:   r.UpdatedAt,
		}
	}
	return out, nil
}

func statusNames(statuses []skill.Status) []string {
	out := make([]string, len(statuses))
	for i, s := range statuses {
		out[i] = string(s)
	}
	return out
}

// SkillNamed finds a skill by its canonical name.
func (q SkillRepository) SkillNamed(ctx context.Context, name string) (skill.Head, error) {
	r, err := q.q.SkillByName(ctx, dbsqlc.SkillByNameParams{WorkspaceID: q.ws, Name: name})
	if isNoRows(err) {
		return skill.Head{}, fault.New(fault.NotFound, fmt.Sprintf("skill %q not found", name),
			"list the skills with `cairn skills list`")
	}
	return headOf(r), classify("find the skill", err)
}

// SkillHead finds a skill by its id.
func (q SkillRepository) SkillHead(ctx context.Context, id int64) (skill.Head, error) {
	r, err := q.q.SkillGet(ctx, dbsqlc.SkillGetParams{WorkspaceID: q.ws, ID: id})
	if isNoRows(err) {
		return skill.Head{}, fault.New(fault.NotFound, fmt.Sprintf("skill %d not found", id),
			"list the skills with `cairn skills list`")
	}
	h := skill.Head{
		ID:          r.ID,
		Name:        r.Name,
		Category:    r.Category,
		Status:      skill.Status(r.Status),
		Version:     int(r.HeadVersion),
		Pinned:      r.Pinned,
		Managed:     r.Managed,
		Tainted:     r.Tainted,
		Origin:      r.Origin,
		Description: r.Description,
		Lang:        r.Lang,
		Degraded:    r.Degraded,
		PackageKey:  r.PackageKey,
		Eta:         r.Eta,
		Uses:        r.Uses,
		Impressions: r.Impressions,
		CreatedAt:   r.CreatedAt,
		UpdatedAt:   r.UpdatedAt,
	}
	return h, classify("find the skill", err)
}

// LearntFrom returns at most max conversations that a skill was learnt from, except one, the latest first.
func (q SkillRepository) LearntFrom(ctx context.Context, id, except int64, max int) ([]int64, error) {
	ids, err := q.q.SkillConversations(ctx, dbsqlc.SkillConversationsParams{WorkspaceID: q.ws, SkillID: id,
		ExceptID: except, MaxRows: int32(max)})
	return ids, classify("read the sources of the skill", err)
}

// Version reads one version of a skill with its files and sources.
func (q SkillRepository) Version(ctx context.Context, id int64, number int) (skill.Version, error) {
	r, err := q.q.VersionGet(ctx, dbsqlc.VersionGetParams{WorkspaceID: q.ws, SkillID: id, Version: narrow(number)})
	if isNoRows(err) {
		return skill.Version{}, fault.New(fault.NotFound, fmt.Sprintf("skill %d: version %d not found", id, number),
			"list the stored versions with `cairn skills history SKILL`")
	}
	if err != nil {
		return skill.Version{}, classify("read the version", err)
	}
	v := skill.Version{SkillID: id, Name: r.Name, Number: number, Base: int(r.BaseVersion), DisplayName: r.DisplayName,
		Description: r.Description, Body: r.Body, Lang: r.Lang,
		ContentSHA: [32]byte(r.ContentSha256), PackageSHA: [32]byte(r.PackageSha256), PackageKey: r.PackageKey,
		Origin: r.Origin, Op: r.Op, ChangeSummary: r.ChangeSummary, Category: r.Category,
		Model: r.Model, PromptSHA: r.PromptSha256, Degraded: r.Degraded, Violations: r.Violations, Risk: r.Risk,
		Redactions: int(r.Redactions), Restores: int(r.Restores), CreatedAt: r.CreatedAt}
	if err = json.Unmarshal(r.Findings, &v.Findings); err != nil {
		return v, fmt.Errorf("decode the findings: %w", err)
	}
	if v.Quality, err = decodeQuality(r.Quality); err != nil {
		return v, err
	}
	if err := json.Unmarshal(r.Extra, &v.Extra); err != nil {
		return v, fmt.Errorf("decode the extra files: %w", err)
	}
	if r.RunID != nil {
		v.Run, v.TaskKey = *r.RunID, deref(r.TaskKey)
	}
	files, err := q.q.FilesGet(ctx, dbsqlc.FilesGetParams{WorkspaceID: q.ws, SkillID: id, Version: int32(number)})
	if err != nil {
		return v, classify("read the files", err)
	}
	for _, f := range files {
		v.Files = append(v.Files, skill.File{Path: f.Path, Content: f.Content})
	}
	sources, err := q.q.SourcesGet(ctx, dbsqlc.SourcesGetParams{WorkspaceID: q.ws, SkillID: id, Version: int32(number)})
	for _, s := range sources {
		v.Sources = append(v.Sources, skill.Source{Conversation: s.ConversationID, From: int(s.FromSeq),
			To: int(s.ToSeq)})
	}
	return v, classify("read the sources", err)
}

// errConflict rolls back a commit whose base is no longer the head.
var errConflict = errors.New("the head has moved")

// CommitVersion commits a task's package once, in one transaction: the version, its files and
// sources, the head, the search document, and the end of the task. With the last task it also ends
// the run. Conflict is set, and nothing is written, in four cases: the head is no longer the
// package's base; its name was taken; its zip was collected; the task has ended or was erased. The
// task must then be packaged again.
func (s *Store) CommitVersion(ctx context.Context, t distillation.Task,
	c distillation.Commit) (out contract.PublishResult, err error) {
	err = s.within(ctx, byKeys, t.Ref.Workspace, func(ctx context.Context, q Tx) error {
		// Creations and updates in one workspace are serialized: names, near duplicates and term
		// counts are checked on rows that do not change.
		if err := classify("lock the skills", q.q.SkillsLock(ctx, q.ws)); err != nil {
			return err
		}
		op := t.Ref.Op(t.Key+"/commit", 0)
		out, err = Once(ctx, q, op, c.Args(t), func() (contract.PublishResult, error) {
			return q.Skills().commitVersion(ctx, t, c)
		})
		return err
	})
	if errors.Is(err, errConflict) {
		return contract.PublishResult{Conflict: true}, nil
	}
	return out, err
}

func (q SkillRepository) commitVersion(ctx context.Context, t distillation.Task,
	c distillation.Commit) (contract.PublishResult, error) {
	p := t.Package
	held, err := q.transaction().Tasks().HoldTask(ctx, t)
	if err == nil && !held {
		err = errConflict
	}
	if err != nil {
		return contract.PublishResult{}, err
	}
	live, err := q.q.PackageLive(ctx, dbsqlc.PackageLiveParams{WorkspaceID: q.ws, Sha256: p.Version.PackageSHA[:]})
	if err != nil {
		return contract.PublishResult{}, classify("create the package live", err)
	}
	if live != 1 {
		return contract.PublishResult{}, errConflict
	}
	out, outcome := contract.PublishResult{Skill: p.Skill, Version: p.Base + 1}, distillation.Updated
	switch {
	case p.Same:
		out.Version, outcome = p.Base, distillation.Unchanged
		err = q.putSources(ctx, out.Skill, out.Version, p.Version.Sources)
	case p.Skill == 0:
		outcome = distillation.Created
		out.Skill, err = q.createFound(ctx, p, c)
	default:
		out.Version, outcome, err = q.commitUpdate(ctx, p, c)
	}
	if err != nil {
		return out, err
	}
	out.Outcome = string(outcome)
	t.Outcome, t.Skill, t.Version, t.Reason = outcome, out.Skill, out.Version, p.Version.ChangeSummary
	if err := q.transaction().Tasks().EndTask(ctx, t); err != nil {
		return out, err
	}
	if out.Version > c.Keep { // the task's input is not needed any more
		if err := q.PruneVersions(ctx, out.Skill, c.Keep); err != nil {
			return out, err
		}
	}
	return out, q.endWithTask(ctx, t)
}

// commitUpdate makes a package the head of its skill, or stores it as a change that waits, or as a canary.
func (q SkillRepository) commitUpdate(ctx context.Context, p *distillation.Package, c distillation.Commit) (version int,
	out distillation.Outcome, err error) {
	change := skill.Pending{Skill: p.Skill, Base: p.Base, Version: p.Version, Reason: p.WaitsFor(),
		Origin: p.Version.Origin}
	if !p.Staged {
		if change.Reason, change.Canary, err = q.waits(ctx, p); err != nil {
			return 0, "", err
		}
	}
	if change.Reason == "" {
		return p.Base + 1, distillation.Updated, q.advanceHead(ctx, p, c)
	}
	id, err := q.transaction().PendingSkills().PutPending(ctx, change)
	p.Version.ChangeSummary = fmt.Sprintf("pending approval as change %d", id)
	if change.Canary {
		p.Version.ChangeSummary = fmt.Sprintf("change %d: %s", id, change.Reason)
	}
	return p.Base, distillation.Staged, err
}

// waits returns why an update that passed all checks does not take effect at once, and whether it is a canary:
// enough conversations have shown how reliable the version in force is.
func (q SkillRepository) waits(ctx context.Context, p *distillation.Package) (reason string, canary bool, err error) {
	head, err := q.SkillHead(ctx, p.Skill)
	if fault.CodeOf(err) == fault.NotFound { // deleted meanwhile
		return "", false, errConflict
	}
	if err != nil || head.Version != p.Base || head.Status != skill.Active && head.Status != skill.Stale {
		return "", false, err
	}
	other, found, err := q.transaction().PendingSkills().Canary(ctx, p.Skill)
	if err != nil {
		return "", false, err
	}
	if found {
		return fmt.Sprintf("canary: change %d is one already", other.ID), false, nil
	}
	trials, err := q.transaction().PendingSkills().CanaryTrials(ctx, skill.Pending{Skill: p.Skill, Base: p.Base},
		canaryOutcomes)
	if err != nil || !review.NeedsCanary(trials.Current) {
		return "", false, err
	}
	return fmt.Sprintf(
		"canary: %d %% of the conversations see it until their outcomes decide",
		review.CanaryShare,
	), true, nil
}

// canaryOutcomes limits the outcomes that are read to find that there are enough.
const canaryOutcomes = 100

// endWithTask ends a run whose other tasks had ended before t. Waiting callers then need not wait
// for the workflow, which finds the run ended.
func (q SkillRepository) endWithTask(ctx context.Context, t distillation.Task) error {
	all, err := q.q.TaskOutcomes(ctx, dbsqlc.TaskOutcomesParams{WorkspaceID: q.ws, RunID: t.Ref.Run})
	if err != nil {
		return classify("read the tasks' outcomes", err)
	}
	outcomes := make([]distillation.Outcome, len(all))
	for i, r := range all {
		outcomes[i] = distillation.Outcome(r.Outcome)
		if r.TaskKey == t.Key {
			outcomes[i] = t.Outcome
		}
		if outcomes[i] == "" {
			return nil
		}
	}
	result := distillation.AddUp(outcomes)
	return q.transaction().Runs().EndRun(ctx, t.Ref.Run, result.Outcome, "", result)
}

// advanceHead moves the head from the package's base. If the head has moved, it returns
// errConflict.
func (q SkillRepository) advanceHead(ctx context.Context, p *distillation.Package, c distillation.Commit) error {
	head, err := q.SkillHead(ctx, p.Skill)
	if fault.CodeOf(err) == fault.NotFound { // deleted meanwhile
		return errConflict
	}
	if err != nil {
		return err
	}
	if head.Version != p.Base {
		return errConflict
	}
	status := p.StatusAfter(head.Status)
	if status != head.Status {
		if err := q.SetStatus(ctx, head.ID, head.Status, status); err != nil {
			return err
		}
	}
	c.Doc.Status = string(status)
	_, err = q.AdvanceSkill(ctx, p.Skill, p.Base, p.Version, c.Doc, c.Near.Vector, c.Near.Space)
	return err
}

// createFound creates a skill, unless its name is taken or a too similar skill has appeared since
// it was packaged.
func (q SkillRepository) createFound(ctx context.Context, p *distillation.Package, c distillation.Commit) (int64,
	error) {
	_, err := q.q.SkillByName(ctx, dbsqlc.SkillByNameParams{WorkspaceID: q.ws, Name: p.Version.Name})
	if err == nil {
		return 0, errConflict
	}
	if !isNoRows(err) {
		return 0, classify("find the name", err)
	}
	near, err := q.transaction().Documents().Search(ctx, c.Near)
	if err != nil {
		return 0, err
	}
	if c.TooNear(near) {
		return 0, errConflict
	}
	return q.CreateSkill(ctx, p.Version, p.State, c.Doc, c.Near.Vector, c.Near.Space)
}

// putVersion stores v as a version of a skill, based on the previous one.
func (q SkillRepository) putVersion(ctx context.Context, id int64, number int, v skill.Version) error {
	body := skill.BodyHash(v.Body)
	p := dbsqlc.VersionInsertParams{WorkspaceID: q.ws, SkillID: id, Version: int32(number),
		BaseVersion: int32(number - 1),
		DisplayName: v.DisplayName, Description: v.Description, Body: v.Body, Lang: v.Lang,
		ContentSha256: v.ContentSHA[:],
		PackageSha256: v.PackageSHA[:], Origin: v.Origin, ChangeSummary: storable(v.ChangeSummary), Model: v.Model,
		PromptSha256: v.PromptSHA,
		Degraded:     texts(v.Degraded), Violations: texts(v.Violations), Risk: texts(v.Risk),
		Redactions: int32(v.Redactions), Restores: int32(v.Restores),
		RunID: orNil(v.Run), TaskKey: orNil(v.TaskKey), Category: v.Category, Op: v.Op, BodySha256: body[:]}
	var err error
	if p.Quality, err = encodeQuality(v.Quality); err != nil {
		return err
	}
	if p.Findings, err = encode("the findings", append([]approval.Finding{}, v.Findings...)); err != nil {
		return err
	}
	if p.Extra, err = encode("the extra files", append([]skill.Extra{}, v.Extra...)); err != nil {
		return err
	}
	if err := classify("write the version", q.q.VersionInsert(ctx, p)); err != nil {
		return err
	}
	files := dbsqlc.FilesPutParams{WorkspaceID: q.ws, SkillID: id, Version: int32(number)}
	for _, f := range v.Files {
		files.Paths, files.Contents = append(files.Paths, f.Path), append(files.Contents, f.Content)
	}
	return classify("write the files", q.q.FilesPut(ctx, files))
}

func (q SkillRepository) putSources(ctx context.Context, id int64, number int, sources []skill.Source) error {
	for _, s := range sources {
		err := classify("write the sources", q.q.SourcesPut(ctx,
			dbsqlc.SourcesPutParams{WorkspaceID: q.ws, SkillID: id, Version: int32(number),
				ConversationID: s.Conversation,
				FromSeqs:       []int32{int32(s.From)}, ToSeqs: []int32{int32(s.To)}}))
		if err != nil {
			return err
		}
	}
	return nil
}

// indexSkill indexes the new version for search.
func (q SkillRepository) indexSkill(ctx context.Context, id int64, d index.Doc, vector []float32, space int16) error {
	d.Owner = id
	return q.transaction().Documents().indexWithVectors(ctx, []index.Doc{d}, [][]float32{vector}, space)
}

func headOf(r dbsqlc.Skill) skill.Head {
	return skill.Head{ID: r.ID, Name: r.Name, Category: r.Category, Status: skill.Status(r.Status),
		Version: int(r.HeadVersion), Pinned: r.Pinned, Managed: r.Managed, Tainted: r.Tainted, Origin: r.Origin,
		Eta: r.Eta, Uses: r.Uses, Impressions: r.Impressions, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}
