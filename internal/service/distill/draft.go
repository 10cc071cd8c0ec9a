package distill

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Draft creates a task's draft from the candidates found by Recall, and returns the plan of its
// files. Ended is true if the task is over: nothing reusable, or no usable output.
func (s *Service) Draft(ctx context.Context, in contract.TaskRef) (out contract.DraftResult, err error) {
	var d *drafting
	j, t, err := s.loadTask(ctx, in.Ref(), in.Task, func(ctx context.Context, tx store.Tx, j job,
		t distillation.Task) (err error) {
		if t.Draft == nil && t.Stage != distillation.Chunked {
			d, err = s.openDraft(ctx, tx, j, t)
		}
		return err
	})
	if err != nil || t.Stage == distillation.EndedTask {
		out.Ended = t.Stage == distillation.EndedTask
		return out, err
	}
	if t.Draft != nil { // created by an earlier attempt
		return j.planOf(*t.Draft), nil
	}
	if t.Stage == distillation.Chunked {
		w := s.wants(ctx, j, t)
		err = s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
			if err = s.recall(ctx, tx, j, &t, w); err != nil {
				return err
			}
			d, err = s.openDraft(ctx, tx, j, t)
			return err
		})
		if err != nil {
			return out, err
		}
	}
	return s.draft(ctx, j, t, d)
}

// drafting is the state of a draft request.
type drafting struct {
	memo       [sha256.Size]byte
	failed     distillation.CachedFailure
	failedOnce bool // the same messages failed within the last day
	views      []view
	q          question
	made       drafted
}

// openDraft opens the draft call of a task after its recall. The call about a task that is longer than a window
// is opened after those about its parts.
func (s *Service) openDraft(ctx context.Context, tx store.Tx, j job, t distillation.Task) (d *drafting, err error) {
	d = &drafting{}
	stage := extractStage(j.spec)
	if d.memo, err = memoKey(j, t, stage); err != nil {
		return nil, err
	}
	if d.failed, d.failedOnce, err = remembered(ctx, tx, j, d.memo); err != nil || d.failedOnce {
		return d, err
	}
	candidates, err := readCandidates(ctx, tx, t)
	if err != nil {
		return nil, err
	}
	d.views = j.views(t, s.shares(j, "extract"))
	d.q = j.extraction(t, stage, candidates, &d.made)
	if len(d.views) > 1 {
		return d, nil
	}
	d.q.show(d.views)
	return d, s.open(ctx, tx, j, &d.q)
}

// draft calls the model for the draft.
func (s *Service) draft(ctx context.Context, j job, t distillation.Task, d *drafting) (
	contract.DraftResult, error) {
	var err error
	ended := contract.DraftResult{Ended: true}
	if d.failedOnce {
		return ended, s.endTask(ctx, t, distillation.Failed, d.failed.Refusal(t.Ref))
	}
	if len(d.views) > 1 {
		d.q.material.Findings, err = s.findings(ctx, j, t, d.views)
	}
	if err == nil {
		err = s.ask(ctx, j, d.q)
	}
	if err != nil {
		if f, over := ledger.IsPermanent(err); over {
			return ended, s.failTask(ctx, t, d.memo, f)
		}
		return contract.DraftResult{}, err
	}
	if d.made.task.Stage == distillation.EndedTask {
		return ended, nil
	}
	return j.planOf(*d.made.task.Draft), nil
}

func extractStep(t distillation.Task) string { return t.Key + "/extract" }

func extractStage(s Spec) prompt.Stage {
	if s.Mode == Simple {
		return prompt.ExtractSimple
	}
	return prompt.Extract
}

// drafted is a task with its draft, or an ended task.
type drafted struct {
	task  distillation.Task
	notes []string
}

// extraction is the question that asks for a draft.
func (j job) extraction(t distillation.Task, stage prompt.Stage, candidates []prompt.Candidate,
	made *drafted) question {
	ms := j.messages(t.Seqs)
	var known []string
	for _, c := range candidates {
		known = append(known, c.Procedure)
	}
	return question{step: extractStep(t), stage: stage, role: "extract", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Question: t.Query, Outcome: t.Verdict, History: j.newestHistory(),
			Candidates: candidates, Tools: toolsSeen(ms), Language: t.Lang},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			draft, notes, err := skill.DecodeDraft(raw, j.spec.Mode, t.Seqs, known...)
			if err == nil && j.spec.Limits.StrictEvidence && !draft.Cited && draft.Action != skill.Skip {
				err = errors.New("evidence is missing: cite the index of each message that the skill rests on")
			}
			if err == nil {
				*made = j.settle(t, draft, notes)
			}
			return err
		},
		save: func(ctx context.Context, tx store.Tx) error {
			if made.task.Stage == distillation.EndedTask {
				return tx.Tasks().EndTask(ctx, made.task)
			}
			return tx.Tasks().SaveDraft(ctx, made.task, made.notes)
		}}
}

// rejectedTarget begins the note about a handle that was not shown.
const rejectedTarget = "rejected_target: "

// settle applies a draft to its task.
func (j job) settle(t distillation.Task, draft skill.Draft, notes []string) drafted {
	if draft.Target != "" && !slices.ContainsFunc(t.Candidates, func(c distillation.Candidate) bool {
		return c.Handle == draft.Target
	}) {
		// A handle that was not shown is never used as a key. The content of the draft decides instead.
		notes = append(notes, fmt.Sprintf(rejectedTarget+"%q was not among the skills shown", draft.Target))
		draft.Target = ""
	}
	if reason := unfit(draft, j.spec.Limits); reason != "" {
		return drafted{task: t.Skipped(reason)}
	}
	draft, cleaned, err := j.private.cleanDraft(draft)
	if err != nil {
		return drafted{task: t.Skipped(err.Error())}
	}
	notes = append(notes, cleaned...)
	if j.lessonsOnly() {
		draft = lessonsOf(draft)
		notes = append(notes, "the conversation failed: only its lessons are kept")
		if len(draft.Experience)+len(draft.Pitfalls) == 0 {
			return drafted{task: t.Skipped("the conversation failed, and taught no lesson")}
		}
	}
	t.Draft = &draft
	for _, c := range t.Candidates {
		if c.Handle == draft.Target {
			t.Based = distillation.Base{Skill: c.Skill, Version: c.Version}
		}
	}
	return drafted{task: t, notes: notes}
}

// unfit returns why a draft cannot become a skill, or an empty string.
func unfit(d skill.Draft, l Limits) string {
	switch {
	case d.Action == skill.Skip && d.Reason != "":
		return d.Reason
	case d.Action == skill.Skip:
		return "the model found nothing reusable"
	case d.Confidence != nil && *d.Confidence < l.MinConfidence:
		return fmt.Sprintf("the model's confidence %.2f is below %.2f", *d.Confidence, l.MinConfidence)
	}
	return ""
}

// lessonsOf returns the parts of a draft that failed work can teach.
func lessonsOf(d skill.Draft) skill.Draft {
	return skill.Draft{Action: d.Action, Target: d.Target, Name: d.Name, Pitfalls: d.Pitfalls, Experience: d.Experience,
		Evidence: d.Evidence, Cited: d.Cited, Confidence: d.Confidence, Reason: d.Reason}
}

func (j job) planOf(d skill.Draft) contract.DraftResult {
	return contract.DraftResult{Files: len(distillation.Task{Draft: &d}.Unwritten()), Judge: j.judged()}
}

// toolsSeen returns the names of the called tools, once each, in order.
func toolsSeen(ms []transcript.Message) []string {
	var out []string
	for _, m := range ms {
		for _, c := range m.ToolCalls {
			if !slices.Contains(out, c.Name) {
				out = append(out, c.Name)
			}
		}
	}
	return out
}
