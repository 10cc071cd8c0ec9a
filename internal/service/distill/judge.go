package distill

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Judge asks a model to score the skill that a task's draft would create. The score is stored with
// the task. If the model returns none, the task gets a note, and the version needs a person.
func (s *Service) Judge(ctx context.Context, in contract.TaskRef) error {
	j, t, err := s.loadTask(ctx, in.Ref(), in.Task, nil)
	if err != nil || t.Stage == distillation.EndedTask || t.Quality != nil {
		return err
	}
	if t.Draft == nil {
		return fmt.Errorf("judge task %s: no draft", in.Task)
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
		quality = j.private.cleanQuality(quality)
		t.Quality = &quality
	}
	return s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Tasks().SaveQuality(ctx, t, notes)
	})
}

// judged reports whether drafts of the run are judged. Drafts with lessons only are not.
func (j job) judged() bool { return j.spec.Quality && !j.lessonsOnly() }

// wouldBe returns the skill that a task's draft would create: the draft joined with its base
// version, if it has one.
func (s *Service) wouldBe(ctx context.Context, t distillation.Task) (shown prompt.Candidate, err error) {
	shown = showDraft(*t.Draft)
	if t.Based.Skill == 0 {
		return shown, nil
	}
	err = s.Store.InWorkspaceByKeys(ctx, t.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		base, err := tx.Skills().Version(ctx, t.Based.Skill, t.Based.Version)
		if isNotFound(err) { // pruned in the meantime: judge the draft alone
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

// judge shows the model the window of the task if the endpoint has it in its cache, else the messages that the
// draft cites. The quotes of its reply are looked up in the texts that it was shown.
func (s *Service) judge(ctx context.Context, j job, t distillation.Task,
	shown prompt.Candidate) (quality skill.Quality, err error) {
	var texts skill.RubricTexts
	q := question{step: t.Key + "/judge", stage: prompt.Judge, role: "judge", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Draft: &shown, Language: t.Lang},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			quality, err = skill.ReadRubric(raw, texts)
			return err
		}}
	if views := j.views(t, true); s.shares(j, "judge") && len(views) == 1 && views[0].shared {
		q.show(views)
	} else {
		q.material.Messages = j.excerpts(t)
	}
	texts = skill.RubricTexts{Skill: shown.Texts(), Conversation: textsOf(slices.Concat(q.window, q.material.Messages))}
	err = s.ask(ctx, j, q)
	return quality, err
}

// textsOf returns the texts of messages.
func textsOf(messages []prompt.Message) (out []string) {
	for _, m := range messages {
		out = append(append(out, m.Content), m.ToolCalls...)
	}
	return out
}

// cleanQuality removes private values from a judgment. A quote that repeats a user's message is removed.
func (p private) cleanQuality(q skill.Quality) skill.Quality {
	if !p.on {
		return q
	}
	q.Reason = p.clean(q.Reason)
	for i, c := range q.Criteria {
		q.Criteria[i].Missing = p.clean(c.Missing)
		q.Criteria[i].Quote = withoutPassages(p.values(), p.values().Generalize(p.clean(c.Quote)))
	}
	return q
}
