package distill

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// AllScripts selects the scripts in Write. Documents are numbered from 0.
const AllScripts = -1

// Kinds of files, which are also their folders in a package.
const (
	Scripts   = skill.Scripts
	Reference = skill.Reference
)

// Write writes the scripts of a task or one of its documents. If no model can write a file, the
// reason is stored instead and the skill is degraded.
func (s *Service) Write(ctx context.Context, ref run.Ref, key string, doc int) (degraded bool, err error) {
	var (
		p part
		q question
	)
	j, t, err := s.loadTask(ctx, ref, key, func(ctx context.Context, tx Tx, j job, t Task) (err error) {
		if p, err = t.part(doc); err != nil {
			return err
		}
		q = j.writing(t, p)
		return s.open(ctx, tx, j, &q)
	})
	if err != nil || t.Stage == EndedTask {
		return false, err
	}
	err = s.ask(ctx, j, q)
	if ledger.IsTruncated(err) && len(p.plan) > 1 {
		return s.writeApart(ctx, j, t, p)
	}
	f, over := ledger.IsPermanent(err)
	if !over {
		return false, err
	}
	var files []WrittenFile
	for _, planned := range p.plan {
		files = append(files, WrittenFile{Name: planned.File, Reason: f.Error()})
	}
	return true, s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return tx.Drafts().SaveWritten(ctx, t, p.kind, files)
	})
}

// part is the set of planned files that one call writes.
type part struct {
	kind string
	plan []skill.FilePlan
	step string // key in the ledger
}

// part returns the files that doc selects, see Write.
func (t Task) part(doc int) (part, error) {
	if t.Draft == nil {
		return part{}, fmt.Errorf("write files of task %s: no draft", t.Key)
	}
	if doc == AllScripts {
		return part{kind: Scripts, plan: unwritten(t.Draft.Scripts, Scripts), step: t.Key + "/scripts"}, nil
	}
	docs := unwritten(t.Draft.Others, Reference)
	if doc >= len(docs) {
		return part{}, fmt.Errorf("write document %d of task %s: only %d documents", doc, t.Key, len(docs))
	}
	return part{kind: Reference, plan: docs[doc : doc+1], step: t.Key + "/doc/" + docs[doc].File}, nil
}

// writing is the question that asks for the files of a part.
func (j job) writing(t Task, p part) question {
	var files []WrittenFile
	draft := showDraft(*t.Draft)
	q := question{step: p.step, stage: prompt.Scripts, role: "scripts", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Draft: &draft,
			Messages: transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars), Language: t.Lang},
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
				files = append(files, WrittenFile{Name: name, Content: returned[name]})
			}
			return nil
		},
		save: func(ctx context.Context, tx Tx) error { return tx.Drafts().SaveWritten(ctx, t, p.kind, files) }}
	if p.kind == Reference {
		name := p.plan[0].File
		q.stage, q.role, q.file = prompt.Doc, "doc", name
		q.decode = func(text string) error {
			markdown := field(text, "markdown")
			if markdown == "" {
				return fmt.Errorf("the document is empty")
			}
			files = []WrittenFile{{Name: name, Content: markdown}}
			return nil
		}
	}
	for _, f := range p.plan {
		q.material.Files = append(q.material.Files,
			prompt.FilePlan{File: f.File, Purpose: f.Purpose, Inputs: f.Inputs, Outputs: f.Outputs})
	}
	return q
}

// unwritten returns the planned files that a model must write: valid names, each once, without text
// in the draft.
func unwritten(plan []skill.FilePlan, kind string) []skill.FilePlan {
	kept, _ := skill.CheckPlan(plan, kind)
	return slices.DeleteFunc(kept, func(f skill.FilePlan) bool { return f.Code != "" })
}
