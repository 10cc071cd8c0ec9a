package store

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// LockSkills serializes creations and updates of skills in the workspace. Names, near duplicates
// and term counts are thus checked on rows that do not change.
func (q SkillRepository) LockSkills(ctx context.Context) error {
	return classify("lock the skills", q.q.SkillsLock(ctx, q.ws))
}

// Versions lists the versions of a skill, the latest first.
func (q SkillRepository) Versions(ctx context.Context, id int64, max int) ([]skill.VersionInfo, error) {
	rows, err := q.q.VersionsList(ctx, dbsqlc.VersionsListParams{WorkspaceID: q.ws, SkillID: id, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the versions", err)
	}
	out := make([]skill.VersionInfo, len(rows))
	for i, r := range rows {
		out[i] = skill.VersionInfo{Number: int(r.Version), Base: int(r.BaseVersion), Description: r.Description,
			Origin: r.Origin, Op: r.Op, Category: r.Category, ChangeSummary: r.ChangeSummary, Model: r.Model,
			Degraded: r.Degraded, Violations: r.Violations, Risk: r.Risk, PackageKey: r.PackageKey,
			PackageBytes: int(r.PackageBytes), CreatedAt: r.CreatedAt}
		if r.RunID != nil {
			out[i].Run = *r.RunID
		}
		if out[i].Quality, err = decodeQuality(r.Quality); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SetStatus changes the status of a skill and of its search document.
func (q SkillRepository) SetStatus(ctx context.Context, id int64, was, status skill.Status) error {
	n, err := q.q.SkillStatusSet(ctx, dbsqlc.SkillStatusSetParams{Status: string(status), WorkspaceID: q.ws, ID: id,
		Was: string(was)})
	if err := oneRow("set the status", n, err); err != nil {
		return err
	}
	return q.transaction().DeletedSkills().setDocStatus(ctx, id, string(status))
}

// SetPinned pins a skill or unpins it.
func (q SkillRepository) SetPinned(ctx context.Context, id int64, pinned bool) error {
	n, err := q.q.SkillPinSet(ctx, dbsqlc.SkillPinSetParams{Pinned: pinned, WorkspaceID: q.ws, ID: id})
	return oneRow("pin the skill", n, err)
}

// PublishPackage makes an uploaded package live. If the package was collected meanwhile, it fails
// with VersionConflict and must be uploaded again.
func (q PackageRepository) PublishPackage(ctx context.Context, sha [32]byte) error {
	n, err := q.q.PackageLive(ctx, dbsqlc.PackageLiveParams{WorkspaceID: q.ws, Sha256: sha[:]})
	if err == nil && n != 1 {
		return fault.New(fault.VersionConflict, "the package was deleted", "upload the package again")
	}
	return classify("publish the package", err)
}

// CreateSkill creates a skill with its first version and returns its ID.
func (q SkillRepository) CreateSkill(ctx context.Context, v skill.Version, status skill.Status, d index.Doc,
	vector []float32, space int16) (int64, error) {
	id, err := q.q.SkillInsert(ctx, dbsqlc.SkillInsertParams{WorkspaceID: q.ws, Name: v.Name, Category: v.Category,
		Status: string(status), Origin: v.Origin,
		Managed: agent.Origin(v.Origin).Autonomous(), Tainted: v.Tainted})
	if err != nil {
		return 0, classify("create the skill", err)
	}
	v.Op = skill.OpCreate
	if err := q.putVersion(ctx, id, 1, v); err != nil {
		return 0, err
	}
	if err := q.putSources(ctx, id, 1, v.Sources); err != nil {
		return 0, err
	}
	if status == skill.Active && len(vector) > 0 {
		d.Owner = id
		return id, q.transaction().Documents().indexEmbedded(ctx, []index.Doc{d}, space, [][]float32{vector})
	}
	return id, q.indexSkill(ctx, id, d, vector, space)
}

// AdvanceSkill adds v as the version after base, which must be the head.
func (q SkillRepository) AdvanceSkill(ctx context.Context, id int64, base int, v skill.Version, d index.Doc,
	vector []float32, space int16) (int, error) {
	number := base + 1
	n, err := q.q.SkillAdvance(ctx, dbsqlc.SkillAdvanceParams{Version: int32(number), Category: v.Category,
		Tainted: v.Tainted, WorkspaceID: q.ws, ID: id, BaseVersion: int32(base)})
	if err == nil && n != 1 {
		return 0, fault.New(fault.VersionConflict, fmt.Sprintf("skill %d has a newer version than %d", id, base), "")
	}
	if err != nil {
		return 0, classify("move the head", err)
	}
	v.Op = changeOp(v)
	if err := q.putVersion(ctx, id, number, v); err != nil {
		return 0, err
	}
	if err := q.putSources(ctx, id, number, v.Sources); err != nil {
		return 0, err
	}
	return number, q.indexSkill(ctx, id, d, vector, space)
}

// PruneVersions deletes all versions of a skill except the newest keep and those still in use. The
// collector deletes packages that no version refers to any more. If keep is 0, nothing is deleted.
func (q SkillRepository) PruneVersions(ctx context.Context, id int64, keep int) error {
	if keep == 0 {
		return nil
	}
	gone, err := q.q.VersionsPrune(ctx, dbsqlc.VersionsPruneParams{WorkspaceID: q.ws, SkillID: id, Keep: int32(keep),
		Counted: skill.CountedOrigins()})
	if err != nil || len(gone) == 0 {
		return classify("prune the versions", err)
	}
	return classify("release the packages",
		q.q.PackagesRelease(ctx, dbsqlc.PackagesReleaseParams{WorkspaceID: q.ws, Sha256s: gone}))
}

// PutPending stores a pending change.
func (q PendingSkillRepository) PutPending(ctx context.Context, p skill.Pending) (int64, error) {
	raw, err := encode("the pending version", p.Version)
	if err != nil {
		return 0, err
	}
	op := p.Op
	if op == "" {
		op = changeOp(p.Version)
	}
	id, err := q.q.PendingPut(ctx, dbsqlc.PendingPutParams{WorkspaceID: q.ws, SkillID: p.Skill,
		BaseVersion: int32(p.Base), Version: raw, Reason: storable(p.Reason), Origin: p.Origin,
		Op: op, Gist: storable(p.Gist), AbsorbedInto: orNil(p.AbsorbedInto), RunID: orNil(p.Version.Run),
		Canary: p.Canary, CanaryPeriod: review.CanaryPeriod})
	if err != nil {
		return 0, classify("store the pending change", err)
	}
	request := channel.ApprovalRequest(fmt.Sprintf("c%d", id), p.Reason, op+" "+p.Version.Name+": "+p.Gist,
		p.Version.Description)
	return id, Tx(q).DeliverHome(ctx, fmt.Sprintf("skill/%d", id), request)
}

// changeOp returns the operation that created a version of an existing skill.
func changeOp(v skill.Version) string {
	if v.Op == "" || v.Op == skill.OpCreate {
		return skill.OpUpdate
	}
	return v.Op
}

// Pending reads and locks a pending change, or one whose approval failed.
func (q PendingSkillRepository) Pending(ctx context.Context, id int64) (skill.Pending, error) {
	r, err := q.q.PendingGet(ctx, dbsqlc.PendingGetParams{WorkspaceID: q.ws, ID: id})
	if err == nil && r.Expired && r.State != "approved" && r.State != "rejected" {
		return skill.Pending{}, fault.New(fault.NotFound,
			fmt.Sprintf("change %d has expired: no decision within 30 days", id),
			"propose the change again on the active version").With("state", "expired")
	}
	if isNoRows(err) || err == nil && r.State != "pending" && r.State != "failed" {
		return skill.Pending{}, fault.New(fault.NotFound, fmt.Sprintf("pending change %d not found", id),
			"list what waits with `cairn inbox`")
	}
	if err != nil {
		return skill.Pending{}, classify("read the pending change", err)
	}
	return pendingOf(dbsqlc.PendingListRow{ID: r.ID, SkillID: r.SkillID, BaseVersion: r.BaseVersion, Version: r.Version,
		Reason: r.Reason, Origin: r.Origin,
		Op: r.Op, Gist: r.Gist, AbsorbedInto: r.AbsorbedInto, State: r.State, CreatedAt: r.CreatedAt,
		CanaryUntil: r.CanaryUntil, Canary: r.Canary})
}

// PendingList lists the pending changes, the oldest first, followed by the expired ones.
func (q PendingSkillRepository) PendingList(ctx context.Context, max int) ([]skill.Pending, error) {
	expired, err := q.q.PendingExpire(ctx, q.ws)
	if err != nil {
		return nil, classify("expire pending changes", err)
	}
	for _, id := range expired {
		if err := q.q.PendingRelease(ctx, dbsqlc.PendingReleaseParams{WorkspaceID: q.ws, ID: id}); err != nil {
			return nil, classify("release the package", err)
		}
	}
	rows, err := q.q.PendingList(ctx, dbsqlc.PendingListParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the pending changes", err)
	}
	out := make([]skill.Pending, len(rows))
	for i, r := range rows {
		if out[i], err = pendingOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func pendingOf(r dbsqlc.PendingListRow) (skill.Pending, error) {
	p := skill.Pending{ID: r.ID, Skill: r.SkillID, Name: r.Name, Base: int(r.BaseVersion), Reason: r.Reason,
		Origin: r.Origin, Op: r.Op, Gist: r.Gist, State: r.State, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		Canary: r.Canary}
	if r.CanaryUntil != nil {
		p.CanaryUntil = *r.CanaryUntil
	}
	if r.AbsorbedInto != nil {
		p.AbsorbedInto = *r.AbsorbedInto
	}
	if err := json.Unmarshal(r.Version, &p.Version); err != nil {
		return p, fmt.Errorf("decode pending change %d: %w", r.ID, err)
	}
	return p, nil
}

// Canary returns the update of the version in force that is shown in a part of the conversations.
func (q PendingSkillRepository) Canary(ctx context.Context, id int64) (p skill.Pending, found bool, err error) {
	r, err := q.q.PendingCanary(ctx, dbsqlc.PendingCanaryParams{WorkspaceID: q.ws, SkillID: id})
	if isNoRows(err) {
		return p, false, nil
	}
	if err != nil {
		return p, false, classify("read the canary", err)
	}
	p, err = pendingOf(dbsqlc.PendingListRow{ID: r.ID, SkillID: r.SkillID, BaseVersion: r.BaseVersion,
		Version: r.Version, Reason: r.Reason, Origin: r.Origin, Op: r.Op, Gist: r.Gist, State: r.State,
		CreatedAt: r.CreatedAt, CanaryUntil: r.CanaryUntil, Canary: true})
	p.Version.Number = p.Base + 1
	return p, err == nil, err
}

// EndCanary shows a change in no further conversation. It still waits for a decision.
func (q PendingSkillRepository) EndCanary(ctx context.Context, id int64) error {
	return classify("end the canary", q.q.PendingCanaryEnd(ctx,
		dbsqlc.PendingCanaryEndParams{WorkspaceID: q.ws, ID: id}))
}

// Decide ends a pending change. The package of a rejected change is released for collection, unless
// a version refers to it.
func (q PendingSkillRepository) Decide(ctx context.Context, id int64, state string) error {
	n, err := q.q.PendingDecide(ctx, dbsqlc.PendingDecideParams{State: state, WorkspaceID: q.ws, ID: id})
	if err := oneRow("decide the pending change", n, err); err != nil {
		return err
	}
	return classify("release the package",
		q.q.PendingRelease(ctx, dbsqlc.PendingReleaseParams{WorkspaceID: q.ws, ID: id}))
}
