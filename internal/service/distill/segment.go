package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Segment opens a run, divides its conversation into tasks and returns their keys in order. It
// returns none if the run has ended: the gate rejected it, there is nothing to learn, or no usable
// output.
func (s *Service) Segment(ctx context.Context, in contract.RunRef) (contract.SegmentResult, error) {
	ref := in.Ref()
	var (
		tasks []distillation.Task // created by an earlier attempt
		open  bool
		d     division
		first question
	)
	j, err := s.load(ctx, ref, func(ctx context.Context, tx store.Tx, j job) (err error) {
		if open, err = j.open(ctx, tx); err != nil || !open {
			return err
		}
		if tasks, err = tx.Tasks().Tasks(ctx, ref.Run); err != nil || len(tasks) > 0 {
			return err
		}
		if d = j.division(); len(d.windows) == 0 {
			return endEmpty(ctx, tx, ref)
		}
		first = d.question(0)
		return s.open(ctx, tx, j, &first)
	})
	if err != nil || !open || len(tasks) > 0 {
		return segmented(tasks), err
	}
	for i := range d.windows { // in order: each request names the open tasks of the window before
		q := first
		if i > 0 {
			q = d.question(i)
		}
		err := s.ask(ctx, j, q)
		if f, ended := ledger.IsPermanent(err); ended {
			return segmented(nil), s.endRun(ctx, ref, outcomeOf(f), reasonOf(f),
				distillation.Result{Code: string(f.Code)})
		}
		if err != nil {
			return contract.SegmentResult{}, err
		}
	}
	return segmented(d.tasks), nil
}

// endEmpty ends a run whose conversation contains no task.
func endEmpty(ctx context.Context, tx store.Tx, ref run.Ref) error {
	return tx.Runs().EndRun(ctx, ref.Run, run.NothingToExtract,
		"the conversation contains no reusable task", distillation.Result{})
}

// division divides a conversation into tasks, window by window. The output of the last window creates the
// tasks; tasks of the same name are joined.
type division struct {
	job     job
	windows [][]prompt.Message
	end     int // number after the last message
	lang    string
	found   [][]json.RawMessage // by window
	tasks   []distillation.Task
}

// division returns one without windows if the conversation is empty.
func (j job) division() (d division) {
	ms := transcript.NonEmpty(j.conv.Messages)
	if len(ms) == 0 {
		return d
	}
	d = division{job: j, windows: j.windows(), end: ms[len(ms)-1].Seq + 1, lang: lang.OfMessages(ms)}
	d.found = make([][]json.RawMessage, len(d.windows))
	return d
}

// question asks for the tasks of a window, after the windows before it.
func (d *division) question(i int) question {
	limit := d.job.spec.Limits.MaxTasks
	q := question{step: windowStep(string(prompt.Segment), i), stage: prompt.Segment, role: "segment", lang: d.lang,
		view: view{window: d.windows[i], shared: true},
		material: prompt.Material{Language: d.lang, OpenTasks: d.openAfter(i - 1),
			Limits: map[string]int{"max_tasks": limit}},
		decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			if _, _, err := transcript.DecodeTasks(raw, d.end, d.job.batch(), limit); err != nil {
				return err
			}
			if d.found[i], err = transcript.TaskList(raw); err != nil || i+1 < len(d.windows) {
				return err
			}
			d.tasks, err = d.join()
			return err
		}}
	if i+1 == len(d.windows) {
		q.save = func(ctx context.Context, tx store.Tx) error {
			if len(d.tasks) == 0 {
				return endEmpty(ctx, tx, d.job.run.Ref)
			}
			return tx.Tasks().PutTasks(ctx, d.tasks)
		}
	}
	return q
}

// windowStep returns the key of the step for a window in the ledger.
func windowStep(step string, i int) string {
	if i == 0 {
		return step
	}
	return fmt.Sprintf("%s/%d", step, i)
}

// openAfter returns the tasks that window i did not finish.
func (d *division) openAfter(i int) (out []prompt.OpenTask) {
	if i < 0 {
		return nil
	}
	decoded, err := d.decode(d.found[i])
	if err != nil { // it decoded when it was stored
		return nil
	}
	for _, t := range decoded {
		if t.Open {
			out = append(out, prompt.OpenTask{Name: t.Name, Query: t.Query})
		}
	}
	return out
}

func (d *division) decode(found []json.RawMessage) ([]transcript.Task, error) {
	raw, err := json.Marshal(append([]json.RawMessage{}, found...)) // never null
	if err != nil {
		return nil, fmt.Errorf("join the tasks of the windows: %w", err)
	}
	tasks, _, err := transcript.DecodeTasks(raw, d.end, d.job.batch(), d.job.spec.Limits.MaxTasks)
	return tasks, err
}

// join creates the run's tasks from the output about all windows.
func (d *division) join() (out []distillation.Task, err error) {
	decoded, err := d.decode(slices.Concat(d.found...))
	if err != nil {
		return nil, err
	}
	for i, t := range d.job.own(decoded) {
		out = append(out, distillation.Task{Ref: d.job.run.Ref, Key: t.Key, Position: i, Name: t.Name, Seqs: t.Seqs,
			Query:   strings.ReplaceAll(t.Query, "\x00", ""), // no store holds NUL
			Verdict: t.Outcome, Proof: t.Proof, Lang: lang.OfMessages(d.job.messages(t.Seqs))})
	}
	return out, nil
}

// own removes messages of the history from tasks: they were distilled before.
func (j job) own(tasks []transcript.Task) []transcript.Task {
	var out []transcript.Task
	for _, t := range tasks {
		ms := j.messages(t.Seqs)
		if len(ms) < 2 {
			continue
		}
		t.Seqs = nil
		for _, m := range ms {
			t.Seqs = append(t.Seqs, m.Seq)
		}
		out = append(out, t)
	}
	return out
}

// batch is the part of task keys that identifies the request. All generations share it.
func (j job) batch() string { return j.run.Key }

func segmented(ts []distillation.Task) contract.SegmentResult {
	out := contract.SegmentResult{Ended: len(ts) == 0}
	for _, t := range ts {
		out.Tasks = append(out.Tasks, t.Key)
	}
	return out
}
