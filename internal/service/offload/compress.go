package offload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// job is a run with the data it works on.
type job struct {
	run    run.Run
	spec   Spec
	record string // record of the turns before the cycle
}

func (s *Service) load(ctx context.Context, ref run.Ref) (j job, err error) {
	err = s.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if j.run, err = tx.Runs().Run(ctx, ref.Run); err != nil || j.run.Status == run.Ended {
			return err
		}
		if j.spec, err = SpecOf(j.run); err != nil {
			return err
		}
		if j.spec.Cycle != nil {
			before, _, err := tx.Offloads().CompactionAt(ctx, j.run.Conversation, j.spec.Cycle.After)
			if err != nil {
				return err
			}
			j.record = before.Content
		}
		_, err = tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return j, err
}

// Compress asks a model for the record of one group. If there is none, it returns a code instead of
// an error, and the messages are kept.
func (s *Service) Compress(ctx context.Context, in contract.GroupInput) (out contract.CompressResult, err error) {
	j, err := s.load(ctx, in.Ref())
	if err != nil || j.run.Status == run.Ended {
		return out, err
	}
	if in.Group < 0 || in.Group >= len(j.spec.Groups) {
		return out, fault.Newf(fault.InvalidArgument, "run %s has no group %d", in.Run, in.Group)
	}
	_, reason, err := s.ask(ctx, j, in.Group)
	out.Reason, _, _ = strings.Cut(reason, ":") // the rest of the reason is text of the model's output
	return out, err
}

// messages returns the messages of a group, preceded by the previous record.
func (s *Service) messages(ctx context.Context, j job, group int) (ms []transcript.Message, err error) {
	b, err := s.blob(ctx, j.run.Workspace, workingmemory.Where{Handle: j.spec.Groups[group].Handle})
	if err != nil {
		return nil, err
	}
	if ms, err = b.Messages(); err == nil && group == 0 && j.record != "" {
		ms = append([]transcript.Message{{Role: transcript.User, Content: j.record}}, ms...)
	}
	return ms, err
}

// ask asks the model for the record of a group, or reads its stored reply.
func (s *Service) ask(ctx context.Context, j job, group int) (out workingmemory.Snapshot, reason string, err error) {
	ms, err := s.messages(ctx, j, group)
	if fault.CodeOf(err) == fault.NotFound {
		return out, "not_found: the messages have expired", nil
	}
	if err != nil {
		return out, "", err
	}
	out, problem, err := s.round(ctx, j, group, ms, "", j.spec.Limits.MaterialTokens)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Class == llm.ContextLength {
		out, problem, err = s.round(ctx, j, group, ms, "/short", j.spec.Limits.MaterialTokens/4)
	}
	if f, over := ledger.IsPermanent(err); over {
		return out, string(f.Code) + ": " + f.Message, nil
	}
	if err == nil && problem != nil {
		reason = string(fault.ModelInvalid) + ": " + problem.Error()
	}
	return out, reason, err
}

func (s *Service) round(ctx context.Context, j job, group int, ms []transcript.Message, suffix string,
	tokens int) (out workingmemory.Snapshot, problem, err error) {
	l := j.spec.Limits
	material := prompt.Material{Messages: transcript.Material(ms, l.ResultChars), Language: j.spec.Lang,
		Limits: map[string]int{"max_tokens": max(min(workingmemory.Tokens(ms)/4, l.ReplyTokens), 50)}}
	for i := range material.Messages {
		material.Messages[i].Index = i
	}
	user, err := prompt.User(agentrun.Fitted(material, tokens))
	if err != nil {
		return out, nil, err
	}
	step := fmt.Sprintf("group/%d%s", group, suffix)
	_, problem, err = s.Ledger.Ask(ctx, ledger.Question{Run: j.run.Ref, Step: step, Lang: j.spec.Lang,
		Repairs: l.Repairs,
		Request: llm.Request{Model: j.spec.Model, System: j.spec.System, Messages: llm.User(user),
			MaxTokens: l.ReplyTokens,
			Schema:    &llm.Schema{Name: prompt.Compress.Schema(), JSON: prompt.Schema(prompt.Compress)},
			Label:     llm.Label{Stage: string(j.run.Kind), Run: j.run.Ref.Run, Task: step}},
		Decode: func(text string) (err error) {
			out, err = workingmemory.ReadSnapshot(text, ms)
			return err
		}})
	return out, problem, err
}

// Await returns the result of a run that has ended. Until then it returns an error with code
// Unavailable, and the caller retries.
func (s *Service) Await(ctx context.Context, in contract.RunRef) (contract.OffloadResult, error) {
	var out CompactionResult
	err := s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, in.Run)
		if err != nil {
			return err
		}
		if r.Status != run.Ended {
			return fault.New(fault.Unavailable, fmt.Sprintf("run %s has not ended yet", in.Run), "")
		}
		out, err = resultOf(r)
		return err
	})
	return out.encode(), err
}

// encode returns the part of a result that workflows know.
func (r CompactionResult) encode() contract.OffloadResult {
	return contract.OffloadResult{
		Degraded: r.Degraded != "", Groups: max(len(r.Records), len(r.Handles)), Tokens: r.Tokens,
	}
}

// Close ends a run with its records or with the reason why there are none. Reasons are the codes
// that Compress returned for the groups. Code is set if the workflow gave up.
func (s *Service) Close(ctx context.Context, in contract.CloseOffloadInput) (contract.OffloadResult, error) {
	out, err := s.close(ctx, in)
	return out.encode(), err
}

func (s *Service) close(ctx context.Context, in contract.CloseOffloadInput) (out CompactionResult, err error) {
	j, err := s.load(ctx, in.Ref())
	if err != nil {
		return out, err
	}
	if j.run.Status == run.Ended {
		return resultOf(j.run)
	}
	if in.Code != "" {
		out.Degraded = in.Code + ": " + in.Why
	}
	for _, reason := range in.Reasons {
		// For unusable output, the ledger has more details.
		if reason != "" && reason != string(fault.ModelInvalid) && out.Degraded == "" {
			out.Degraded = reason
		}
	}
	for i := range j.spec.Groups {
		if out.Degraded != "" {
			break
		}
		snapshot, reason, err := s.ask(ctx, j, i) // reads the reply that Compress has stored
		if err != nil {
			return out, err
		}
		if reason != "" {
			out.Degraded = reason
			break
		}
		out.Records = append(out.Records, snapshot.Render(j.spec.Lang, j.spec.Groups[i].Handle,
			j.spec.Groups[i].Messages))
	}
	if out.Degraded != "" {
		out.Records = nil
	}
	if j.spec.Cycle != nil {
		err := s.closeCycle(ctx, j, &out)
		return out, err
	}
	out.Tokens = workingmemory.Tokens([]transcript.Message{{Content: strings.Join(out.Records, "\n")}})
	return out, s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Runs().EndRun(ctx, in.Run, outcomeOf(out), out.Degraded, out)
	})
}

func outcomeOf(r CompactionResult) run.Outcome {
	if r.Degraded != "" {
		return run.CompletedPartial
	}
	return run.Completed
}
