package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Chunk opens a run, divides its conversation into tasks and returns their keys in order. It
// returns none if the run has ended: the gate rejected it, there is nothing to learn, or no usable
// output.
func (s *Service) Chunk(ctx context.Context, ref run.Ref) ([]string, error) {
	var (
		tasks []Task // created by an earlier attempt
		open  bool
		made  []Task
		asked []question
	)
	j, err := s.load(ctx, ref, func(ctx context.Context, tx Tx, j job) (err error) {
		if open, err = j.open(ctx, tx); err != nil || !open {
			return err
		}
		if tasks, err = tx.Tasks().Tasks(ctx, ref.Run); err != nil || len(tasks) > 0 {
			return err
		}
		if asked = j.division(&made); len(asked) == 0 {
			return endEmpty(ctx, tx, ref)
		}
		return s.open(ctx, tx, j, &asked[0])
	})
	if err != nil || !open || len(tasks) > 0 {
		return keys(tasks), err
	}
	for _, q := range asked {
		err := s.ask(ctx, j, q)
		if f, ended := ledger.IsPermanent(err); ended {
			return nil, s.endRun(ctx, ref, outcomeOf(f), reasonOf(f), Result{Code: string(f.Code)})
		}
		if err != nil {
			return nil, err
		}
	}
	return keys(made), nil
}

// endEmpty ends a run whose conversation contains no task.
func endEmpty(ctx context.Context, tx Tx, ref run.Ref) error {
	return tx.Runs().EndRun(ctx, ref.Run, run.NothingToExtract,
		"the conversation contains no reusable task", Result{})
}

// division asks for the tasks of the conversation, in several windows if the transcript is too long
// for one call. The output of the last window creates the tasks; tasks of the same name are joined.
func (j job) division(made *[]Task) []question {
	ms := transcript.NonEmpty(j.conv.Messages)
	if len(ms) == 0 {
		return nil
	}
	last := ms[len(ms)-1].Seq + 1
	language := lang.OfMessages(ms)
	windows := windows(ms, j.spec.Limits)
	found := make([][]json.RawMessage, len(windows))
	var out []question
	for i, w := range windows {
		out = append(out, question{step: windowStep(i), stage: prompt.Chunk, role: "chunk", lang: language,
			material: prompt.Material{Messages: w, Language: language,
				Limits: map[string]int{"max_tasks": j.spec.Limits.MaxTasks}},
			decode: func(text string) error {
				raw, err := llm.ExtractJSON(text)
				if err != nil {
					return err
				}
				if _, _, err := transcript.DecodeTasks(raw, last, j.batch(), j.spec.Limits.MaxTasks); err != nil {
					return err
				}
				if found[i], err = transcript.TaskList(raw); err != nil || i+1 < len(windows) {
					return err
				}
				*made, err = j.tasks(slices.Concat(found...), last)
				return err
			}})
	}
	out[len(out)-1].save = func(ctx context.Context, tx Tx) error {
		if len(*made) == 0 {
			return endEmpty(ctx, tx, j.run.Ref)
		}
		return tx.Tasks().PutTasks(ctx, *made)
	}
	return out
}

func windowStep(i int) string {
	if i == 0 {
		return "chunk"
	}
	return fmt.Sprintf("chunk/%d", i)
}

// tasks creates the run's tasks from the model output for messages up to last.
func (j job) tasks(found []json.RawMessage, last int) (out []Task, err error) {
	raw, err := json.Marshal(append([]json.RawMessage{}, found...)) // never null
	if err != nil {
		return nil, fmt.Errorf("join the windows' tasks: %w", err)
	}
	decoded, _, err := transcript.DecodeTasks(raw, last, j.batch(), j.spec.Limits.MaxTasks)
	if err != nil {
		return nil, err
	}
	for i, t := range j.own(decoded) {
		out = append(out, Task{Ref: j.run.Ref, Key: t.Key, Position: i, Name: t.Name, Seqs: t.Seqs,
			Lang: lang.OfMessages(j.messages(t.Seqs))})
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

func keys(ts []Task) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Key)
	}
	return out
}

// windows renders messages into pieces of at most InputTokens. It first clips tool outputs harder.
// Then it cuts the transcript between messages; each window repeats the last tenth of the previous
// one.
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
