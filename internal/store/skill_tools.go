package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// Once runs effect under the operation ID op, once, for services with results of many types.
func (q OperationRepository) Once(ctx context.Context, op string, args any,
	effect func() (json.RawMessage, error)) (json.RawMessage, error) {
	return once(ctx, q.session, op, args, effect)
}

// PutView records that a run has read a version of a skill.
func (q SkillUseRepository) PutView(ctx context.Context, run string, skill int64, version int) error {
	return classify("record the view", q.q.ViewPut(ctx,
		dbsqlc.ViewPutParams{WorkspaceID: q.ws, RunID: run, SkillID: skill, Version: int32(version)}))
}

// LastView returns the latest version of a skill that a run has read, 0 for none.
func (q SkillUseRepository) LastView(ctx context.Context, run string, skill int64) (int, error) {
	n, err := q.q.ViewLatest(ctx, dbsqlc.ViewLatestParams{WorkspaceID: q.ws, RunID: run, SkillID: skill})
	return int(n), classify("read the views", err)
}

// RecentWrites counts the changes and proposals of the given origins within the last hour, by the
// database's clock.
func (q SkillUseRepository) RecentWrites(ctx context.Context, watched, autonomous []string) (skill.Writes, error) {
	r, err := q.q.WritesRecent(ctx, dbsqlc.WritesRecentParams{WorkspaceID: q.ws, Watched: watched,
		Autonomous: autonomous})
	return skill.Writes{All: int(r.Watched), Autonomous: int(r.Autonomous)}, classify("count the recent changes", err)
}

// SkillCount returns the number of skills that are neither archived nor deleted.
func (q SkillRepository) SkillCount(ctx context.Context) (int, error) {
	n, err := q.q.SkillsActiveCount(ctx, q.ws)
	return int(n), classify("count the skills", err)
}

// SkillNames lists ID, name and status of every skill, by name.
func (q SkillRepository) SkillNames(ctx context.Context) ([]skill.Head, error) {
	rows, err := q.q.SkillNames(ctx, q.ws)
	if err != nil {
		return nil, classify("list the names", err)
	}
	out := make([]skill.Head, len(rows))
	for i, r := range rows {
		out[i] = skill.Head{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status)}
	}
	return out, nil
}

// SkillsOfBody returns the names of skills whose head has a body with this hash.
func (q SkillRepository) SkillsOfBody(ctx context.Context, sha [32]byte) ([]string, error) {
	names, err := q.q.SkillsOfBody(ctx, dbsqlc.SkillsOfBodyParams{WorkspaceID: q.ws, BodySha256: sha[:]})
	return names, classify("find the body", err)
}

// TasksNaming returns the names of scheduled tasks whose prompts contain a skill's name.
func (q SkillUseRepository) TasksNaming(ctx context.Context, skill string) ([]string, error) {
	names, err := q.q.TasksNaming(ctx, dbsqlc.TasksNamingParams{WorkspaceID: q.ws, Skill: skill})
	return names, classify("find tasks that name the skill", err)
}

// Offered lists the skills for a prompt's index: pinned ones, then the most recently used.
func (q SkillRepository) Offered(ctx context.Context) ([]skill.IndexEntry, error) {
	rows, err := q.q.SkillsOffered(ctx, q.ws)
	if err != nil {
		return nil, classify("list the skills", err)
	}
	out := make([]skill.IndexEntry, len(rows))
	for i, r := range rows {
		out[i] = skill.IndexEntry{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status), Description: r.Description,
			Category: r.Category, Risk: r.Risk}
	}
	return out, nil
}

// Categories counts the skills of each category, starting with those without one.
func (q SkillRepository) Categories(ctx context.Context, statuses []skill.Status) ([]skill.CategoryCount, error) {
	rows, err := q.q.SkillCategories(ctx, dbsqlc.SkillCategoriesParams{WorkspaceID: q.ws,
		States: statusNames(statuses)})
	if err != nil {
		return nil, classify("count the skills", err)
	}
	out := make([]skill.CategoryCount, len(rows))
	for i, r := range rows {
		out[i] = skill.CategoryCount{Category: r.Category, Skills: int(r.Skills)}
	}
	return out, nil
}

// SetManaged sets whether autonomous writers manage a skill.
func (q SkillRepository) SetManaged(ctx context.Context, id int64, managed bool) error {
	n, err := q.q.SkillManagedSet(ctx, dbsqlc.SkillManagedSetParams{Managed: managed, WorkspaceID: q.ws, ID: id})
	return oneRow("set the owner", n, err)
}

// SetTainted sets whether a skill contains untrusted text.
func (q SkillRepository) SetTainted(ctx context.Context, id int64, tainted bool) error {
	n, err := q.q.SkillTaintSet(ctx, dbsqlc.SkillTaintSetParams{Tainted: tainted, WorkspaceID: q.ws, ID: id})
	return oneRow("set the taint", n, err)
}

// SetAbsorbed records which skill has taken over the content of another, 0 for none.
func (q DeletedSkillRepository) SetAbsorbed(ctx context.Context, id, into int64) error {
	n, err := q.q.SkillAbsorbedSet(ctx, dbsqlc.SkillAbsorbedSetParams{AbsorbedInto: orNil(into), WorkspaceID: q.ws,
		ID: id})
	return oneRow("set what absorbed the skill", n, err)
}

// deletedDoc is the status of a deleted skill's document. No search includes it.
const deletedDoc = "deleted"

// DeleteSkill removes a skill from every list and releases its name. The deletion can be undone
// until the returned time.
func (q DeletedSkillRepository) DeleteSkill(ctx context.Context, id, absorbedInto int64,
	window time.Duration) (time.Time, error) {
	until, err := q.q.SkillDelete(ctx, dbsqlc.SkillDeleteParams{AbsorbedInto: orNil(absorbedInto), WorkspaceID: q.ws,
		ID: id, Undo: window})
	if err != nil {
		return until, classify("delete the skill", err)
	}
	return until, q.setDocStatus(ctx, id, deletedDoc)
}

// Deleted finds a skill whose deletion can still be undone, by its ID or its name.
func (q DeletedSkillRepository) Deleted(ctx context.Context, id int64, name string, window time.Duration) (skill.Head,
	error) {
	r, err := q.q.SkillDeleted(ctx, dbsqlc.SkillDeletedParams{WorkspaceID: q.ws, ID: id, Name: name, Undo: window})
	if isNoRows(err) {
		return skill.Head{}, fault.New(fault.NotFound,
			fmt.Sprintf("no skill %q was deleted within the last %d days", name, int(window.Hours()/24)),
			"list the skills with `cairn skills list`")
	}
	return skill.Head{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status)}, classify("find the deleted skill", err)
}

// EraseDeleted permanently removes skills and memories whose undo period is over, up to most of
// each, and returns their number.
func (q DeletedSkillRepository) EraseDeleted(ctx context.Context, most int) (int, error) {
	n, err := q.q.EraseDeleted(ctx, int32(most))
	return int(n), classify("erase the deleted rows", err)
}

// DeletedLong lists workspaces with deleted skills or memories whose undo period is over.
func (s *Store) DeletedLong(ctx context.Context, max int) (out []int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		out, err = q.DeletedLong(ctx, int32(max))
		return classify("list the deleted rows", err)
	})
	return out, err
}

// Undelete restores a deleted skill with its former status.
func (q DeletedSkillRepository) Undelete(ctx context.Context, id int64, status skill.Status) error {
	n, err := q.q.SkillUndelete(ctx, dbsqlc.SkillUndeleteParams{WorkspaceID: q.ws, ID: id})
	if err := oneRow("undo the deletion", n, err); err != nil {
		return err
	}
	return q.setDocStatus(ctx, id, string(status))
}

func (q DeletedSkillRepository) setDocStatus(ctx context.Context, id int64, status string) error {
	n, err := q.q.DocStatusSet(ctx, dbsqlc.DocStatusSetParams{Status: status, WorkspaceID: q.ws, Kind: index.KindSkill,
		OwnerID: id})
	return oneRow("set the status in search", n, err)
}

// deref returns the text, or "" for null. orNil is its inverse, and that of ids.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
