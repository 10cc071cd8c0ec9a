package distill

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// mergeHandle is the handle of the current head in a merge prompt.
const mergeHandle = "S1"

// Merge joins a task's draft with the current head of its skill, which the model has not seen: the
// head has changed, or a skill of the same name was found. If no model can, fixed rules join the
// fields.
func (s *Service) Merge(ctx context.Context, in contract.TaskRef) error {
	j, t, err := s.loadTask(ctx, in.Ref(), in.Task, nil)
	if err != nil || t.Stage == distillation.EndedTask {
		return err
	}
	if t.Draft == nil {
		return fmt.Errorf("merge task %s: no draft", in.Task)
	}
	fresh := j.newDocument(*t.Draft)
	vector := s.embed(ctx, in.Workspace, fresh.SearchText())
	var current *skill.Version
	err = s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		head, _, err := s.target(ctx, tx, j, t, fresh, vector)
		if err != nil || head == nil {
			return err
		}
		v, err := tx.Skills().Version(ctx, head.ID, head.Version)
		current = &v
		return err
	})
	if err != nil || current == nil { // deleted in the meantime: Pack decides
		return err
	}
	if !j.lessonsOnly() { // lessons are only added, so no model is needed
		merged, err := s.merge(ctx, j, t, *current)
		if _, over := ledger.IsPermanent(err); err != nil && !over {
			return err
		}
		if err == nil && merged.Action != skill.Skip {
			if merged, _, err = j.private.cleanDraft(merged); err != nil { // the fields are joined by rules instead
				merged = *t.Draft
			}
			merged.Scripts, merged.Others = t.Draft.Scripts, t.Draft.Others // already written
			// A handle of the recall, not of this request.
			merged.Target, merged.Privacy = t.Draft.Target, t.Draft.Privacy
			t.Draft = &merged
		}
	}
	t.Based = distillation.Base{Skill: current.SkillID, Version: current.Number}
	return s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Tasks().SaveBase(ctx, t)
	})
}

func (s *Service) merge(ctx context.Context, j job, t distillation.Task, current skill.Version) (draft skill.Draft,
	err error) {
	shown, mine := showVersion(current), showDraft(*t.Draft)
	shown.Handle = mergeHandle
	err = s.ask(ctx, j, question{step: fmt.Sprintf("%s/merge/%d-%d", t.Key, current.SkillID, current.Number),
		stage: prompt.Merge, role: "merge", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Question: t.Query, Candidates: []prompt.Candidate{shown}, Draft: &mine,
			Messages: j.excerpts(t), Language: t.Lang},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			draft, _, err = skill.DecodeDraft(raw, j.spec.Mode, t.Seqs, shown.Procedure, mine.Procedure)
			return err
		}})
	if err == nil && !draft.Cited {
		draft.Evidence = t.Draft.Evidence
	}
	return draft, err
}
