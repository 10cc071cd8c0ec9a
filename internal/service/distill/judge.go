package distill

import (
	"context"
	"fmt"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Judge asks a model whether what a task's draft would make is worth keeping,
// and how well it is made. The score stays with the task for its package. A
// judge that gives none changes nothing else: the task says why in a note.
func (s *Service) Judge(ctx context.Context, ref run.Ref, key string) error {
	j, t, err := s.loadTask(ctx, ref, key, nil)
	if err != nil || t.Stage == EndedTask || t.Quality != nil {
		return err
	}
	if t.Draft == nil {
		return fmt.Errorf("judge task %s: it has no draft", key)
	}
	shown, err := s.wouldBe(ctx, t)
	if err != nil {
		return err
	}
	quality, err := s.judge(ctx, j, t, shown)
	var notes []string
	if f, over := ledger.IsPermanent(err); over {
		notes = []string{"not judged: " + f.Error()}
	} else if err != nil {
		return err
	} else {
		quality.Reason = j.private.clean(quality.Reason)
		t.Quality = &quality
	}
	return s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return tx.Drafts().SaveQuality(ctx, t, notes)
	})
}

// judged tells whether a run's drafts are judged. Lessons alone are no skill to
// be judged.
func (j job) judged() bool { return j.spec.Quality && !j.lessonsOnly() }

// wouldBe is the skill as a task's draft would leave it: joined with the version
// that it was written on, where there is one.
func (s *Service) wouldBe(ctx context.Context, t Task) (shown prompt.Candidate, err error) {
	shown = showDraft(*t.Draft)
	if t.Based.Skill == 0 {
		return shown, nil
	}
	err = s.Store.Within(ctx, t.Ref.Workspace, func(ctx context.Context, tx Tx) error {
		base, err := tx.Skills().Version(ctx, t.Based.Skill, t.Based.Version)
		if isNotFound(err) { // pruned meanwhile: the draft alone has to do
			return nil
		}
		if err != nil {
			return err
		}
		merged := skill.Merge(base.Document(), base.Files, *t.Draft)
		planned := shown
		shown = showDocument(merged.Document)
		shown.Scripts, shown.References = append(shown.Scripts, planned.Scripts...),
			append(shown.References, planned.References...)
		return nil
	})
	return shown, err
}

func (s *Service) judge(ctx context.Context, j job, t Task, shown prompt.Candidate) (quality skill.Quality, err error) {
	err = s.ask(ctx, j, question{step: t.Key + "/judge", stage: prompt.Judge, role: "judge", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Draft: &shown,
			Messages: transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars), Language: t.Lang},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			quality, err = skill.DecodeQuality(raw)
			return err
		}})
	return quality, err
}
