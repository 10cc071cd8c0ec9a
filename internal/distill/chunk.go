package distill

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/lang"
	"cairn/internal/ledger"
	"cairn/internal/llm"
	"cairn/internal/prompt"
	"cairn/internal/run"
	"cairn/internal/transcript"
)

// Chunk picks a run up, divides its conversation into tasks and returns their keys
// in order, none when the run has ended: it was gated, there is nothing to learn,
// or there was no usable answer.
func (s *Service) Chunk(ctx context.Context, ref run.Ref) ([]string, error) {
	var (
		tasks []Task
		open  bool
	)
	j, err := s.load(ctx, ref, func(tx Tx, j job) (err error) {
		if open, err = j.open(ctx, tx); err != nil || !open {
			return err
		}
		tasks, err = tx.Tasks(ctx, ref.Run)
		return err
	})
	if err != nil || !open || len(tasks) > 0 { // an earlier attempt was here
		return keys(tasks), err
	}
	found, err := s.divide(ctx, j)
	if f, ended := ledger.Hopeless(err); ended {
		return nil, s.endRun(ctx, ref, outcomeOf(f), f.Error(), Result{Code: string(f.Code)})
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, s.endRun(ctx, ref, run.NothingToExtract, "the conversation holds no task that could be learnt from", Result{})
	}
	for i, t := range found {
		tasks = append(tasks, Task{Ref: ref, Key: t.Key, Position: i, Name: t.Name, Seqs: t.Seqs, Lang: lang.OfMessages(j.messages(t.Seqs))})
	}
	err = s.Store.Within(ctx, ref.Workspace, func(tx Tx) error { return tx.PutTasks(ctx, tasks) })
	return keys(tasks), err
}

// divide asks for the tasks, window by window when the transcript is too long
// for one call, and joins tasks of one name.
func (s *Service) divide(ctx context.Context, j job) ([]transcript.Task, error) {
	ms := transcript.NonEmpty(j.conv.Messages)
	if len(ms) == 0 {
		return nil, nil
	}
	last := ms[len(ms)-1].Seq + 1
	language := lang.OfMessages(ms)
	windows := windows(ms, j.spec.Limits)
	all := []json.RawMessage{}
	for i, w := range windows {
		step := "chunk"
		if i > 0 {
			step = fmt.Sprintf("chunk/%d", i)
		}
		err := s.ask(ctx, j, question{step: step, stage: prompt.Chunk, role: "chunk", lang: language,
			material: prompt.Material{Messages: w, Language: language, Limits: map[string]int{"max_tasks": j.spec.Limits.MaxTasks}},
			decode: func(text string) error {
				raw, err := llm.ExtractJSON(text)
				if err != nil {
					return err
				}
				if _, _, err := transcript.DecodeTasks(raw, last, j.batch(), j.spec.Limits.MaxTasks); err != nil {
					return err
				}
				items, err := transcript.TaskList(raw)
				all = append(all, items...)
				return err
			}})
		if err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("join the windows' tasks: %w", err)
	}
	tasks, _, err := transcript.DecodeTasks(raw, last, j.batch(), j.spec.Limits.MaxTasks)
	return j.own(tasks), err
}

// own leaves out what tasks say of messages that are none of the run's: its
// history has been distilled before.
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

// batch is what task keys are made unique by: a run of a request, whatever its generation.
func (j job) batch() string { return j.run.Key }

func keys(ts []Task) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Key)
	}
	return out
}

// windows renders messages into pieces of at most InputTokens: tool outputs are
// clipped harder first; then the transcript is cut between messages, each
// window beginning with the last tenth of the one before.
func windows(ms []transcript.Message, l Limits) [][]prompt.Message {
	var rendered []prompt.Message
	for chars := l.ToolOutputChars; ; chars /= 2 {
		rendered = transcript.Material(ms, chars)
		if tokens(rendered) <= l.InputTokens {
			return [][]prompt.Message{rendered}
		}
		if chars < shortChars {
			break
		}
	}
	var out [][]prompt.Message
	for from := 0; from < len(rendered); {
		to, size := from, 0
		for to < len(rendered) && (to == from || size+tokens(rendered[to:to+1]) <= l.InputTokens) {
			size += tokens(rendered[to : to+1])
			to++
		}
		out = append(out, rendered[from:to])
		if to == len(rendered) {
			break
		}
		from = max(from+1, to-(to-from)/10)
	}
	return out
}

func tokens(ms []prompt.Message) int {
	n := 0
	for _, m := range ms {
		n += llm.EstimateTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += llm.EstimateTokens(c)
		}
	}
	return n
}
