package distill

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Write writes the scripts and documents of a task, from its draft and the messages that it cites. If no model
// can write them, the reason is stored instead and the skill is degraded.
func (s *Service) Write(ctx context.Context, in contract.TaskRef) (out contract.WriteResult, err error) {
	var q question
	j, t, err := s.loadTask(ctx, in.Ref(), in.Task, func(ctx context.Context, tx store.Tx, j job,
		t distillation.Task) error {
		if t.Draft == nil {
			return fmt.Errorf("write files of task %s: no draft", t.Key)
		}
		q = j.writing(t, t.Unwritten(), t.Key+"/files")
		return s.open(ctx, tx, j, &q)
	})
	if err != nil || t.Stage == distillation.EndedTask {
		return out, err
	}
	err = s.ask(ctx, j, q)
	if ledger.IsTruncated(err) && len(t.Unwritten()) > 1 {
		out.Degraded, err = s.writeApart(ctx, j, t)
		return out, err
	}
	f, over := ledger.IsPermanent(err)
	if !over {
		return out, err
	}
	out.Degraded = true
	var files []distillation.WrittenFile
	for _, planned := range t.Unwritten() {
		files = append(files, distillation.WrittenFile{Name: planned.File, Reason: f.Error()})
	}
	return out, s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return saveFiles(ctx, tx, t, files)
	})
}

// writeApart writes each file in one call, because one reply does not hold all of them. Each file has its own
// key in the ledger, so a repeated step finds the files that are paid for.
func (s *Service) writeApart(ctx context.Context, j job, t distillation.Task) (degraded bool, err error) {
	for _, planned := range t.Unwritten() {
		err := s.ask(ctx, j, j.writing(t, []skill.FilePlan{planned}, t.Key+"/files/"+planned.File))
		f, over := ledger.IsPermanent(err)
		if err != nil && !over {
			return false, err
		}
		if !over {
			continue
		}
		degraded = true
		missing := []distillation.WrittenFile{{Name: planned.File, Reason: f.Error()}}
		err = s.Store.InWorkspaceByKeys(ctx, t.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
			return saveFiles(ctx, tx, t, missing)
		})
		if err != nil {
			return false, err
		}
	}
	return degraded, nil
}

// saveFiles stores written files by kind. Documents end in .md.
func saveFiles(ctx context.Context, tx store.Tx, t distillation.Task, files []distillation.WrittenFile) error {
	byKind := map[string][]distillation.WrittenFile{}
	for _, f := range files {
		kind := distillation.Scripts
		if strings.EqualFold(path.Ext(f.Name), ".md") {
			kind = distillation.Reference
		}
		byKind[kind] = append(byKind[kind], f)
	}
	for _, kind := range []string{distillation.Scripts, distillation.Reference} {
		if err := tx.Tasks().SaveWritten(ctx, t, kind, byKind[kind]); err != nil {
			return err
		}
	}
	return nil
}

// writing is the question that asks for planned files of a draft, under a key in the ledger.
func (j job) writing(t distillation.Task, plan []skill.FilePlan, step string) question {
	var files []distillation.WrittenFile
	draft := showDraft(*t.Draft)
	q := question{step: step, stage: prompt.Files, role: "files", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Draft: &draft, Messages: j.excerpts(t), Language: t.Lang},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			returned, err := skill.DecodeFiles(raw)
			if err != nil {
				return err
			}
			files = nil
			for _, name := range slices.Sorted(maps.Keys(returned)) {
				files = append(files, distillation.WrittenFile{Name: name, Content: returned[name]})
			}
			return nil
		},
		save: func(ctx context.Context, tx store.Tx) error { return saveFiles(ctx, tx, t, files) }}
	for _, f := range plan {
		q.material.Files = append(q.material.Files,
			prompt.FilePlan{File: f.File, Purpose: f.Purpose, Inputs: f.Inputs, Outputs: f.Outputs})
	}
	return q
}
