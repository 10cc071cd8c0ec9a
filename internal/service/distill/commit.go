package distill

import (
	"context"
	"fmt"

	"cairn/internal/domain/run"
	"cairn/internal/service/search"
)

// Commit is what a commit needs to know beside the package.
type Commit struct {
	Doc      search.Doc   // what search is to find; its owner is filled in
	Near     search.Query // finds what is too similar to create beside
	MergeSim float64      // cosine from which it is
	Keep     int          // versions of the skill, 0 for all
}

// Args are a commit's arguments, as the log of operations remembers them.
func (c Commit) Args(t Task) any {
	return map[string]any{"skill": t.Package.Skill, "base": t.Package.Base,
		"content": fmt.Sprintf("%x", t.Package.Version.ContentSHA)}
}

// TooNear tells whether one of the hits is what is about to be created.
func (c Commit) TooNear(hits []search.Hit) bool {
	for _, h := range hits {
		if h.Cosine >= c.MergeSim {
			return true
		}
	}
	return false
}

// CommitResult is what became of a package. Conflict means that nothing was
// written, and that the task is to be packaged on the head in force now.
type CommitResult struct {
	Conflict bool    `json:"conflict,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Skill    int64   `json:"skill"`
	Version  int     `json:"version"`
}

// Publish packages a task and, unless the head is unseen, makes the package the
// head of its skill, once.
func (s *Service) Publish(ctx context.Context, ref run.Ref, key string) (c CommitResult, unseen bool, err error) {
	j, t, made, unseen, err := s.pack(ctx, ref, key)
	if err != nil || unseen {
		return c, unseen, err
	}
	if t.Stage != EndedTask {
		if err := s.upload(ctx, *t.Package, made); err != nil {
			return c, false, err
		}
	}
	c, err = s.commit(ctx, t, j.spec)
	if t.Package != nil && (err != nil || c.Conflict) {
		err = s.discardErased(ctx, t, err)
	}
	return c, false, err
}

// Commit makes a task's package the head of its skill, once.
func (s *Service) Commit(ctx context.Context, ref run.Ref, key string) (CommitResult, error) {
	var (
		t    Task
		spec Spec
	)
	err := s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if t, err = tx.Tasks().Task(ctx, ref.Run, key); err != nil {
			return err
		}
		spec, err = s.specs.of(ctx, tx, ref)
		return err
	})
	if err != nil {
		return CommitResult{}, err
	}
	return s.commit(ctx, t, spec)
}

func (s *Service) commit(ctx context.Context, t Task, spec Spec) (CommitResult, error) {
	if t.Stage == EndedTask {
		return CommitResult{Outcome: t.Outcome, Skill: t.Skill, Version: t.Version}, nil
	}
	if t.Package == nil {
		return CommitResult{}, fmt.Errorf("commit task %s: it has no package", t.Key)
	}
	text := t.Package.Version.SearchText()
	vector := s.embed(ctx, text)
	return s.Store.CommitVersion(ctx, t, Commit{
		Doc:      search.NewDoc(search.KindSkill, 0, string(t.Package.Status()), text),
		Near:     s.skillQuery(text, vector, spec.Limits.RecallTopK+1),
		MergeSim: spec.Limits.MergeSim,
		Keep:     spec.Limits.KeepVersions,
	})
}
