package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
	"cairn/internal/service/search"
)

// Once runs effect under the operation id op, once, for use-cases whose results
// are of many types.
func (q operationRepository) Once(ctx context.Context, op string, args any,
	effect func() (json.RawMessage, error)) (json.RawMessage, error) {
	return once(ctx, q.session, op, args, effect)
}

// PutView records that a run has seen a version of a skill.
func (q skillUseRepository) PutView(ctx context.Context, run, skill int64, version int) error {
	return classify("record the view", q.q.ViewPut(ctx,
		dbsqlc.ViewPutParams{WorkspaceID: q.ws, RunID: run, SkillID: skill, Version: int32(version)}))
}

// LastView is the latest version of a skill that a run has seen, 0 for none.
func (q skillUseRepository) LastView(ctx context.Context, run, skill int64) (int, error) {
	n, err := q.q.ViewLatest(ctx, dbsqlc.ViewLatestParams{WorkspaceID: q.ws, RunID: run, SkillID: skill})
	return int(n), classify("read the views", err)
}

// RecentWrites counts what the named origins have changed or proposed within
// the last hour on the database's clock.
func (q skillUseRepository) RecentWrites(ctx context.Context, watched, autonomous []string) (library.Writes, error) {
	r, err := q.q.WritesRecent(ctx, dbsqlc.WritesRecentParams{WorkspaceID: q.ws, Watched: watched,
		Autonomous: autonomous})
	return library.Writes{All: int(r.Watched), Autonomous: int(r.Autonomous)}, classify("count the recent changes", err)
}

// SkillCount counts the skills that are neither archived nor deleted.
func (q skillRepository) SkillCount(ctx context.Context) (int, error) {
	n, err := q.q.SkillsActiveCount(ctx, q.ws)
	return int(n), classify("count the skills", err)
}

// SkillNames lists id, name and status of every skill, by name.
func (q skillRepository) SkillNames(ctx context.Context) ([]skill.Head, error) {
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

// SkillsOfBody names the skills whose head has a body of this hash.
func (q skillRepository) SkillsOfBody(ctx context.Context, sha [32]byte) ([]string, error) {
	names, err := q.q.SkillsOfBody(ctx, dbsqlc.SkillsOfBodyParams{WorkspaceID: q.ws, BodySha256: sha[:]})
	return names, classify("look for the body", err)
}

// TasksNaming names the scheduled tasks whose prompts hold a skill's name.
func (q skillUseRepository) TasksNaming(ctx context.Context, skill string) ([]string, error) {
	names, err := q.q.TasksNaming(ctx, dbsqlc.TasksNamingParams{WorkspaceID: q.ws, Skill: skill})
	return names, classify("look for tasks that name the skill", err)
}

// Offered lists what a prompt's index may show: pinned ones, then those that
// were used last.
func (q skillRepository) Offered(ctx context.Context) ([]library.IndexEntry, error) {
	rows, err := q.q.SkillsOffered(ctx, q.ws)
	if err != nil {
		return nil, classify("list the skills", err)
	}
	out := make([]library.IndexEntry, len(rows))
	for i, r := range rows {
		out[i] = library.IndexEntry{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status), Description: r.Description,
			Category: r.Category, Risk: r.Risk}
	}
	return out, nil
}

// Categories counts the skills of each category, those without one first.
func (q skillRepository) Categories(ctx context.Context, statuses []skill.Status) ([]library.CategoryCount, error) {
	rows, err := q.q.SkillCategories(ctx, dbsqlc.SkillCategoriesParams{WorkspaceID: q.ws,
		States: statusNames(statuses)})
	if err != nil {
		return nil, classify("count the skills", err)
	}
	out := make([]library.CategoryCount, len(rows))
	for i, r := range rows {
		out[i] = library.CategoryCount{Category: r.Category, Skills: int(r.Skills)}
	}
	return out, nil
}

// SetManaged gives a skill to the autonomous writers, or takes it from them.
func (q skillRepository) SetManaged(ctx context.Context, id int64, managed bool) error {
	n, err := q.q.SkillManagedSet(ctx, dbsqlc.SkillManagedSetParams{Managed: managed, WorkspaceID: q.ws, ID: id})
	return oneRow("set the owner", n, err)
}

// SetTainted says whether untrusted text went into a skill.
func (q skillRepository) SetTainted(ctx context.Context, id int64, tainted bool) error {
	n, err := q.q.SkillTaintSet(ctx, dbsqlc.SkillTaintSetParams{Tainted: tainted, WorkspaceID: q.ws, ID: id})
	return oneRow("set the taint", n, err)
}

// SetAbsorbed says which skill took over what another one said, 0 for none.
func (q deletedSkillRepository) SetAbsorbed(ctx context.Context, id, into int64) error {
	n, err := q.q.SkillAbsorbedSet(ctx, dbsqlc.SkillAbsorbedSetParams{AbsorbedInto: orNil(into), WorkspaceID: q.ws,
		ID: id})
	return oneRow("set what absorbed the skill", n, err)
}

// deletedDoc is the state of a deleted skill's document: no search wants it.
const deletedDoc = "deleted"

// DeleteSkill takes a skill out of every list and gives its name back. It can be
// taken back until the returned time.
func (q deletedSkillRepository) DeleteSkill(ctx context.Context, id, absorbedInto int64,
	window time.Duration) (time.Time, error) {
	until, err := q.q.SkillDelete(ctx, dbsqlc.SkillDeleteParams{AbsorbedInto: orNil(absorbedInto), WorkspaceID: q.ws,
		ID: id, Undo: window})
	if err != nil {
		return until, classify("delete the skill", err)
	}
	return until, q.setDocStatus(ctx, id, deletedDoc)
}

// Deleted finds a skill that can still be taken back, by its id or its name.
func (q deletedSkillRepository) Deleted(ctx context.Context, id int64, name string, window time.Duration) (skill.Head,
	error) {
	r, err := q.q.SkillDeleted(ctx, dbsqlc.SkillDeletedParams{WorkspaceID: q.ws, ID: id, Name: name, Undo: window})
	if isNoRows(err) {
		return skill.Head{}, fault.New(fault.NotFound,
			fmt.Sprintf("no skill %q was deleted within the last %d days", name, int(window.Hours()/24)),
			"`cairn skills list` shows those that are there")
	}
	return skill.Head{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status)}, classify("find the deleted skill", err)
}

// EraseDeleted takes what was deleted longer ago than the workspace lets it be taken
// back away for good, up to most skills and most memories, and returns how many.
func (q deletedSkillRepository) EraseDeleted(ctx context.Context, most int) (int, error) {
	n, err := q.q.EraseDeleted(ctx, int32(most))
	return int(n), classify("erase what was deleted", err)
}

// DeletedLong lists workspaces that have something to erase for good.
func (s *Store) DeletedLong(ctx context.Context, max int) (out []int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		out, err = q.DeletedLong(ctx, int32(max))
		return classify("list what was deleted", err)
	})
	return out, err
}

// Undelete puts a deleted skill back in the state that it had.
func (q deletedSkillRepository) Undelete(ctx context.Context, id int64, status skill.Status) error {
	n, err := q.q.SkillUndelete(ctx, dbsqlc.SkillUndeleteParams{WorkspaceID: q.ws, ID: id})
	if err := oneRow("take the delete back", n, err); err != nil {
		return err
	}
	return q.setDocStatus(ctx, id, string(status))
}

func (q deletedSkillRepository) setDocStatus(ctx context.Context, id int64, status string) error {
	n, err := q.q.DocStatusSet(ctx, dbsqlc.DocStatusSetParams{Status: status, WorkspaceID: q.ws, Kind: search.KindSkill,
		OwnerID: id})
	return oneRow("set the status in search", n, err)
}

// deref is a nullable text, empty for null; orNil is its inverse, and that of ids.
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
