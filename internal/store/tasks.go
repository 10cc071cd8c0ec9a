package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// PutTasks stores a run's tasks. Existing tasks stay unchanged.
func (q TaskRepository) PutTasks(ctx context.Context, ts []distillation.Task) error {
	for _, t := range ts {
		err := classify("store a task", q.q.TaskInsert(ctx,
			dbsqlc.TaskInsertParams{WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key, Position: int32(t.Position),
				Name: storable(t.Name), Seqs: int32s(t.Seqs), Lang: t.Lang,
				Query: storable(t.Query), Verdict: t.Verdict, Proof: int32s(t.Proof)}))
		if err != nil {
			return err
		}
	}
	return nil
}

// Tasks lists a run's tasks in their order.
func (q TaskRepository) Tasks(ctx context.Context, id string) ([]distillation.Task, error) {
	rows, err := q.q.TasksOfRun(ctx, dbsqlc.TasksOfRunParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return nil, classify("list the tasks", err)
	}
	out := make([]distillation.Task, len(rows))
	for i, r := range rows {
		if out[i], err = taskOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Task reads one task.
func (q TaskRepository) Task(ctx context.Context, id string, key string) (distillation.Task, error) {
	row, err := q.q.TaskGet(ctx, dbsqlc.TaskGetParams{WorkspaceID: q.ws, RunID: id, TaskKey: key})
	if err != nil {
		return distillation.Task{}, classify("read the task", err)
	}
	return taskOf(row)
}

// SaveRecall stores the existing skills that a task's model is shown.
func (q TaskRepository) SaveRecall(ctx context.Context, t distillation.Task) error {
	raw, err := encode("the candidates", t.Candidates)
	if err != nil {
		return err
	}
	return classify("store the candidates",
		q.q.TaskRecalled(ctx, dbsqlc.TaskRecalledParams{Query: storable(t.Query), Candidates: raw, WorkspaceID: q.ws,
			RunID: t.Ref.Run, TaskKey: t.Key}))
}

// SaveDraft stores a task's draft, with the version that it is based on.
func (q TaskRepository) SaveDraft(ctx context.Context, t distillation.Task, notes []string) error {
	raw, err := encode("the draft", t.Draft)
	if err != nil {
		return err
	}
	return classify("store the draft", q.q.TaskExtracted(ctx,
		dbsqlc.TaskExtractedParams{Draft: raw, BasedOnSkill: t.Based.Skill, BasedOnVersion: int32(t.Based.Version),
			Notes: texts(notes), WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key}))
}

// SaveBase stores a draft with the version that it is based on.
func (q TaskRepository) SaveBase(ctx context.Context, t distillation.Task) error {
	raw, err := json.Marshal(t.Draft)
	if err != nil {
		return fmt.Errorf("encode the draft: %w", err)
	}
	return classify("store the draft's base",
		q.q.TaskBased(ctx, dbsqlc.TaskBasedParams{BasedOnSkill: t.Based.Skill, BasedOnVersion: int32(t.Based.Version),
			Draft:       raw,
			WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key}))
}

// SaveQuality stores the assessment of a task's draft, or the reason why there is none.
func (q TaskRepository) SaveQuality(ctx context.Context, t distillation.Task, notes []string) error {
	raw, err := encodeQuality(t.Quality)
	if err != nil {
		return err
	}
	return classify("store the draft's quality",
		q.q.TaskJudged(ctx, dbsqlc.TaskJudgedParams{Quality: raw, Notes: texts(notes), WorkspaceID: q.ws,
			RunID: t.Ref.Run, TaskKey: t.Key}))
}

// SaveComparison stores the comparison of a task's package, or the reason why there is none.
func (q TaskRepository) SaveComparison(ctx context.Context, t distillation.Task, notes []string) error {
	raw, err := encode("the comparison", t.Comparison)
	if err != nil {
		return err
	}
	return classify("store the comparison",
		q.q.TaskCompared(ctx, dbsqlc.TaskComparedParams{Comparison: raw, Notes: texts(notes), WorkspaceID: q.ws,
			RunID: t.Ref.Run, TaskKey: t.Key}))
}

// SaveWritten stores written files. An existing file stays unchanged.
func (q TaskRepository) SaveWritten(ctx context.Context, t distillation.Task, kind string,
	files []distillation.WrittenFile) error {
	p := dbsqlc.TaskFilesPutParams{WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key, Kind: kind}
	for _, f := range files {
		p.Names, p.Contents, p.Reasons = append(p.Names, storable(f.Name)), append(p.Contents, storable(f.Content)),
			append(p.Reasons, storable(f.Reason))
	}
	return classify("store the written files", q.q.TaskFilesPut(ctx, p))
}

// Written lists the files that were written for a task.
func (q TaskRepository) Written(ctx context.Context, t distillation.Task) ([]distillation.WrittenFile, error) {
	rows, err := q.q.TaskFilesGet(ctx, dbsqlc.TaskFilesGetParams{WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key})
	if err != nil {
		return nil, classify("read the written files", err)
	}
	out := make([]distillation.WrittenFile, len(rows))
	for i, r := range rows {
		out[i] = distillation.WrittenFile{Kind: r.Kind, Name: r.Name, Content: r.Content, Reason: r.Reason}
	}
	return out, nil
}

// HoldTask locks a task until the transaction ends, so that it cannot be erased. It returns false
// if the task has ended or was erased.
func (q TaskRepository) HoldTask(ctx context.Context, t distillation.Task) (bool, error) {
	_, err := q.q.TaskHold(ctx, dbsqlc.TaskHoldParams{WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key})
	if isNoRows(err) {
		return false, nil
	}
	return err == nil, classify("lock the task", err)
}

// SavePackage stores the version that is ready to be committed.
func (q TaskRepository) SavePackage(ctx context.Context, t distillation.Task) error {
	raw, err := encode("the package", t.Package)
	if err != nil {
		return err
	}
	return classify("store the package", q.q.TaskPackaged(ctx,
		dbsqlc.TaskPackagedParams{Package: raw, WorkspaceID: q.ws, RunID: t.Ref.Run, TaskKey: t.Key}))
}

// EndTask ends a task. A task that has ended stays unchanged.
func (q TaskRepository) EndTask(ctx context.Context, t distillation.Task) error {
	p := dbsqlc.TaskEndParams{Outcome: string(t.Outcome), Reason: storable(t.Reason), WorkspaceID: q.ws,
		RunID: t.Ref.Run, TaskKey: t.Key}
	if t.Skill != 0 {
		version := int32(t.Version)
		p.SkillID, p.Version = &t.Skill, &version
	}
	_, err := q.q.TaskEnd(ctx, p)
	return classify("end the task", err)
}

func taskOf(r dbsqlc.DistillTask) (distillation.Task, error) {
	t := distillation.Task{Ref: run.Ref{Workspace: r.WorkspaceID, Run: r.RunID}, Key: r.TaskKey,
		Position: int(r.Position),
		Name:     r.Name, Seqs: ints(r.Seqs), Lang: r.Lang,
		Stage: distillation.Stage(r.Stage), Outcome: distillation.Outcome(r.Outcome), Reason: r.Reason, Query: r.Query,
		Verdict: r.Verdict, Proof: ints(r.Proof), Notes: r.Notes,
		Based: distillation.Base{Skill: r.BasedOnSkill, Version: int(r.BasedOnVersion)}}
	if r.SkillID != nil {
		t.Skill, t.Version = *r.SkillID, int(*r.Version)
	}
	if err := json.Unmarshal(r.Candidates, &t.Candidates); err != nil {
		return t, fmt.Errorf("decode the candidates of task %s: %w", r.TaskKey, err)
	}
	if len(r.Draft) > 0 {
		t.Draft = new(skill.Draft)
		if err := json.Unmarshal(r.Draft, t.Draft); err != nil {
			return t, fmt.Errorf("decode the draft of task %s: %w", r.TaskKey, err)
		}
	}
	var err error
	if t.Quality, err = decodeQuality(r.Quality); err != nil {
		return t, err
	}
	if len(r.Comparison) > 0 {
		t.Comparison = new(distillation.Comparison)
		if err := json.Unmarshal(r.Comparison, t.Comparison); err != nil {
			return t, fmt.Errorf("decode the comparison of task %s: %w", r.TaskKey, err)
		}
	}
	if len(r.Package) > 0 {
		t.Package = new(distillation.Package)
		if err := json.Unmarshal(r.Package, t.Package); err != nil {
			return t, fmt.Errorf("decode the package of task %s: %w", r.TaskKey, err)
		}
	}
	return t, nil
}

func int32s(in []int) []int32 {
	out := make([]int32, len(in))
	for i, v := range in {
		out[i] = int32(v)
	}
	return out
}

func ints(in []int32) []int {
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = int(v)
	}
	return out
}

// Memo finds the reason why the same material failed permanently, if that is at most fresh ago.
func (q TaskRepository) Memo(ctx context.Context, key [32]byte, fresh time.Duration) (distillation.CachedFailure, bool,
	error) {
	row, err := q.q.MemoGet(ctx, dbsqlc.MemoGetParams{WorkspaceID: q.ws, Key: key[:], Fresh: fresh})
	if isNoRows(err) {
		return distillation.CachedFailure{}, false, nil
	}
	left := fresh - time.Duration(row.AgeSeconds*float64(time.Second))
	return distillation.CachedFailure{Code: fault.Code(row.Code), Reason: row.Reason, Left: left}, err == nil,
		classify("read the memo", err)
}

// PutMemo stores the reason why material failed permanently.
func (q TaskRepository) PutMemo(ctx context.Context, key [32]byte, m distillation.CachedFailure) error {
	return classify("store the memo", q.q.MemoPut(ctx,
		dbsqlc.MemoPutParams{WorkspaceID: q.ws, Key: key[:], Code: string(m.Code), Reason: storable(m.Reason)}))
}
