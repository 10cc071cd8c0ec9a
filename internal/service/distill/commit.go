package distill

import (
	"context"
	"fmt"

	"cairn/internal/domain/run"
	"cairn/internal/service/search"
)

// Commit holds the arguments of a commit other than the package.
type Commit struct {
	Doc      search.Doc   // search document; the owner is set by the store
	Near     search.Query // finds skills that are too similar for a new one
	MergeSim float64      // minimum cosine similarity for that
	Keep     int          // number of versions to keep, 0 for all
}

// Args returns the arguments of a commit for the operation log.
func (c Commit) Args(t Task) any {
	return map[string]any{"skill": t.Package.Skill, "base": t.Package.Base,
		"content": fmt.Sprintf("%x", t.Package.Version.ContentSHA)}
}

// TooNear reports whether a hit is too similar to the skill to create.
func (c Commit) TooNear(hits []search.Hit) bool {
	for _, h := range hits {
		if h.Cosine >= c.MergeSim {
			return true
		}
	}
	return false
}

// CommitResult is the result of a commit. Unseen, Compare and Conflict mean that nothing was written, and that
// the task must be published again: after Merge, after Compare, or at once.
type CommitResult struct {
	Unseen   bool    `json:"-"` // the draft's model has not seen the head
	Compare  bool    `json:"-"` // the update was not compared with the head
	Conflict bool    `json:"conflict,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Skill    int64   `json:"skill"`
	Version  int     `json:"version"`
}

// Publish packages a task and commits the package, once. It does not commit if the current head is unseen or
// was not compared with the package.
func (s *Service) Publish(ctx context.Context, ref run.Ref, key string) (c CommitResult, err error) {
	j, t, made, unseen, err := s.pack(ctx, ref, key)
	if err != nil || unseen {
		return CommitResult{Unseen: unseen}, err
	}
	if t.Stage != EndedTask {
		if j.needsComparison(t, *t.Package) {
			return CommitResult{Compare: true}, nil
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
		return CommitResult{}, fmt.Errorf("commit task %s: no package", t.Key)
	}
	text := t.Package.Version.SearchText()
	vector := s.embed(ctx, t.Ref.Workspace, text)
	return s.Store.CommitVersion(ctx, t, Commit{
		Doc:      search.NewDoc(search.KindSkill, 0, string(t.Package.State), text),
		Near:     skillQuery(text, vector, spec.Limits.RecallTopK+1),
		MergeSim: spec.Limits.MergeSim,
		Keep:     spec.Limits.KeepVersions,
	})
}
