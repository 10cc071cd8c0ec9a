package distill

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/index"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Publish packages a task and commits the package, once. It does not commit if the current head is unseen or
// was not compared with the package.
func (s *Service) Publish(ctx context.Context, in contract.TaskRef) (c contract.PublishResult, err error) {
	j, t, made, unseen, err := s.pack(ctx, in.Ref(), in.Task)
	if err != nil || unseen {
		return contract.PublishResult{Unseen: unseen}, err
	}
	if t.Stage != distillation.EndedTask {
		if j.needsComparison(t, *t.Package) {
			return contract.PublishResult{Compare: true}, nil
		}
		if err := s.upload(ctx, *t.Package, made); err != nil {
			return c, err
		}
	}
	c, err = s.commit(ctx, t, j.spec)
	if t.Package != nil && (err != nil || c.Conflict) {
		err = s.discardErased(ctx, t, err)
	}
	return c, err
}

// Commit makes a task's package the head of its skill, once.
func (s *Service) Commit(ctx context.Context, ref run.Ref, key string) (contract.PublishResult, error) {
	var (
		t    distillation.Task
		spec Spec
	)
	err := s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if t, err = tx.Tasks().Task(ctx, ref.Run, key); err != nil {
			return err
		}
		spec, err = s.specs.of(ctx, tx, ref)
		return err
	})
	if err != nil {
		return contract.PublishResult{}, err
	}
	return s.commit(ctx, t, spec)
}

func (s *Service) commit(ctx context.Context, t distillation.Task, spec Spec) (contract.PublishResult, error) {
	if t.Stage == distillation.EndedTask {
		return contract.PublishResult{Outcome: string(t.Outcome), Skill: t.Skill, Version: t.Version}, nil
	}
	if t.Package == nil {
		return contract.PublishResult{}, fmt.Errorf("commit task %s: no package", t.Key)
	}
	text := t.Package.Version.SearchText()
	vector := s.embed(ctx, t.Ref.Workspace, text)
	return s.Store.CommitVersion(ctx, t, distillation.Commit{
		Doc:      index.NewDoc(index.KindSkill, 0, string(t.Package.State), text),
		Near:     skillQuery(text, vector, spec.Limits.RecallTopK+1),
		MergeSim: spec.Limits.MergeSim,
		Keep:     spec.Limits.KeepVersions,
	})
}
