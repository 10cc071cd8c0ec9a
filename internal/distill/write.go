package distill

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/ledger"
	"cairn/internal/llm"
	"cairn/internal/prompt"
	"cairn/internal/run"
	"cairn/internal/skill"
	"cairn/internal/transcript"
)

// AllScripts asks Write for a task's scripts; documents are numbered from 0.
const AllScripts = -1

// Kinds of files, which are also their folders in a package.
const (
	Scripts   = skill.Scripts
	Reference = skill.Reference
)

// Write writes a task's scripts, or one of its documents. A file that no model
// can write degrades the skill: the reason is stored in its place.
func (s *Service) Write(ctx context.Context, ref run.Ref, key string, doc int) (degraded bool, err error) {
	j, t, err := s.loadTask(ctx, ref, key, nil)
	if err != nil || t.Stage == EndedTask {
		return false, err
	}
	if t.Draft == nil {
		return false, fmt.Errorf("write files of task %s: it has no draft", key)
	}
	kind, plan := Scripts, unwritten(t.Draft.Scripts, Scripts)
	if doc != AllScripts {
		docs := unwritten(t.Draft.Others, Reference)
		if doc >= len(docs) {
			return false, fmt.Errorf("write document %d of task %s: there are %d", doc, key, len(docs))
		}
		kind, plan = Reference, docs[doc:doc+1]
	}
	files, err := s.writeFiles(ctx, j, t, kind, plan)
	if f, over := ledger.Hopeless(err); over {
		degraded, err = true, nil
		files = nil
		for _, p := range plan {
			files = append(files, WrittenFile{Name: p.File, Reason: f.Error()})
		}
	}
	if err != nil {
		return false, err
	}
	err = s.Store.Within(ctx, ref.Workspace, func(tx Tx) error { return tx.SaveWritten(ctx, t, kind, files) })
	return degraded, err
}

func (s *Service) writeFiles(ctx context.Context, j job, t Task, kind string, plan []skill.FilePlan) (files []WrittenFile, err error) {
	draft := showDraft(*t.Draft)
	q := question{step: t.Key + "/scripts", stage: prompt.Scripts, role: "scripts", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name, Draft: &draft, Messages: transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars), Language: t.Lang},
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
		}}
	if kind == Reference {
		name := plan[0].File
		q.step, q.stage, q.role, q.file = t.Key+"/doc/"+name, prompt.Doc, "doc", name
		q.decode = func(text string) error {
			markdown := field(text, "markdown")
			if markdown == "" {
				return fmt.Errorf("the document is empty")
			}
			files = []WrittenFile{{Name: name, Content: markdown}}
			return nil
		}
	}
	for _, p := range plan {
		q.material.Files = append(q.material.Files, prompt.FilePlan{File: p.File, Purpose: p.Purpose, Inputs: p.Inputs, Outputs: p.Outputs})
	}
	return files, s.ask(ctx, j, q)
}

// unwritten is the part of a plan that a model has to write: names that may be
// used, each once, whose text did not come with the draft.
func unwritten(plan []skill.FilePlan, kind string) []skill.FilePlan {
	kept, _ := skill.CheckPlan(plan, kind)
	return slices.DeleteFunc(kept, func(f skill.FilePlan) bool { return f.Code != "" })
}
