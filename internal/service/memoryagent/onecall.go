package memoryagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Bounds of the time after which a refused add can be repeated.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// RetryAfter estimates when an add has room again: adds end in their order, so that a new one waits
// about as long as the oldest has waited, longer if more are open than allowed.
func RetryAfter(open, limit int, oldest time.Duration) time.Duration {
	wait := time.Duration(float64(oldest) * float64(open) / float64(max(1, limit)))
	return min(maxRetry, max(minRetry, time.Duration(math.Ceil(wait.Seconds()))*time.Second))
}

// admit refuses an add if too many are open.
func (s *Service) admit(ctx context.Context, tx store.Tx, chosen settings.LongTerm) error {
	q, err := tx.AgentRuns().OpenAdds(ctx)
	if err != nil {
		return err
	}
	refuse := func(of string, open, limit int, oldest time.Duration, hint string) error {
		f := fault.New(fault.RateLimited, fmt.Sprintf("%s has %d open adds, the limit is %d", of, open, limit), hint)
		f.RetryAfter = RetryAfter(open, limit, oldest)
		metrics.AddRefused()
		return f
	}
	switch {
	case q.Mine >= chosen.OpenAdds:
		return refuse("the workspace", q.Mine, chosen.OpenAdds, q.MineAge, "wait for the seconds in the Retry-After "+
			"header, or raise the limit with `cairn settings set memory.open_adds=1000`")
	case s.MaxAdds > 0 && q.Everyone >= s.MaxAdds:
		return refuse("the deployment", q.Everyone, s.MaxAdds, q.EveryoneAge, "")
	}
	return nil
}

// fast decides whether one model call adds the session, and returns its subject.
func (r Request) fast(chosen settings.LongTerm, messages []transcript.Message) (subject memory.Task, fast bool,
	err error) {
	want := cmp.Or(r.Add, chosen.Add, settings.AddAuto)
	if !slices.Contains([]string{settings.AddAuto, settings.AddFast, settings.AddAgents}, want) {
		return subject, false, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid add %q", want),
			"use auto, fast or agents")
	}
	if want == settings.AddAgents {
		return subject, false, nil
	}
	subject, reason := r.subject(chosen)
	limit := chosen.AddTokens
	if want == settings.AddFast {
		limit = partTokens(r.Spec.Limits)
	}
	if reason == "" {
		if n := sessionSize(messages, r.Spec.Limits.ResultChars); n > limit {
			reason = fmt.Sprintf("the session has about %d tokens, the limit is %d", n, limit)
		}
	}
	if reason != "" && want == settings.AddFast {
		return subject, false, fault.New(fault.InvalidArgument, "session cannot be added with one model call: "+reason,
			"use add=auto or add=agents")
	}
	return subject, reason == "", nil
}

// subject returns the subject of the session, or why one call cannot add it.
func (r Request) subject(chosen settings.LongTerm) (subject memory.Task, reason string) {
	switch {
	case len(r.Trajectories) > 0:
		return subject, "trajectories are compared by agents"
	case r.Choices.forAgents():
		return subject, "its options configure agents"
	case len(r.Targets) == 1:
		subject = r.Targets[0]
	case len(r.Targets) == 0 && chosen.Person != "":
		subject = memory.Task{Type: memory.Personal, Target: chosen.Person}
	default:
		return subject, "its subject is not known: name one target"
	}
	if !slices.Contains(memory.Registered, subject.Type) || !r.Choices.has(subject.Type) {
		return subject, fmt.Sprintf("memories of type %q are kept by agents", subject.Type)
	}
	if _, err := memory.NewTarget(subject.Type, subject.Target); err != nil {
		return subject, err.Error()
	}
	return subject, ""
}

// forAgents reports whether an option configures tools or targets that only agents have.
func (c RequestOptions) forAgents() bool {
	return c.Multiple != nil || c.ThinkingParams != nil || c.ThinkTool != nil || isTrue(c.ToolMemory) ||
		isTrue(c.IdentityMemory) || slices.Contains(c.Types, memory.Guideline) ||
		slices.Contains(c.Types, memory.Identity)
}

// sessionSize estimates the tokens of a session in a prompt.
func sessionSize(messages []transcript.Message, chars int) (n int) {
	for _, m := range rendered(messages, chars) {
		n += frameTokens + llm.EstimateTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += llm.EstimateTokens(c)
		}
	}
	return n
}

// fastRun completes a run that one model call does.
func (r Request) fastRun(n run.NewAgentRun, subject memory.Task, messages []transcript.Message,
	idle bool) (run.NewAgentRun, error) {
	spec := r.specOf(messages)
	spec.Origin, spec.Channel = agent.OriginDistill, "chat"
	system, err := prompt.Instructions(prompt.Facts, spec.Lang)
	if err != nil {
		return n, err
	}
	p := PinnedSpec{Way: settings.AddFast, Prompt: string(prompt.Facts), Author: spec.Model + "@" + prompt.Hash(system),
		Workspace: r.WorkspaceKey, Targets: []memory.Task{subject}, Idle: idle, Choices: r.Choices.orNil(),
		Metadata: r.Metadata}
	if spec.Pinned, err = json.Marshal(p); err != nil {
		return n, fmt.Errorf("encode the configuration: %w", err)
	}
	if n.Spec, err = json.Marshal(spec); err != nil {
		return n, fmt.Errorf("encode the configuration: %w", err)
	}
	t, err := memory.NewTarget(subject.Type, subject.Target)
	if err != nil {
		return n, err
	}
	joins := sha256.Sum256([]byte(strings.Join([]string{spec.Model, spec.Lang, p.choices().Guidance}, "\x1f")))
	n.Add = &run.Add{Subject: contract.SubjectOf(t.Scope().Name()), Joins: fmt.Sprintf("%x", joins[:6]),
		Tokens: sessionSize(messages, spec.Limits.ResultChars)}
	n.WorkflowID = contract.RememberID(r.WorkspaceKey, n.Add.Subject)
	return n, nil
}

// RememberInput returns the workflow input of a run that one model call does. For other runs, does is
// false.
func RememberInput(workspaceKey string, r run.Run) (in contract.RememberInput, does bool, err error) {
	w, p, err := pinnedOf(r)
	if err != nil || p.Way != settings.AddFast || len(p.Targets) != 1 {
		return in, false, err
	}
	t, err := memory.NewTarget(p.Targets[0].Type, p.Targets[0].Target)
	if err != nil {
		return in, false, err
	}
	return contract.RememberInput{Workspace: r.Workspace, WorkspaceKey: workspaceKey,
		Subject: contract.SubjectOf(t.Scope().Name()), Timeouts: w.Spec.Timeouts()}, true, nil
}

// OneCall is a session that one model call adds.
type OneCall struct {
	Run     run.Run
	Spec    agentrun.Spec
	Pinned  PinnedSpec
	Subject memory.Task
}

// OneCallOf decodes the configuration of a run that one model call does.
func OneCallOf(r run.Run) (out OneCall, err error) {
	w, p, err := pinnedOf(r)
	if err != nil {
		return out, err
	}
	if p.Way != settings.AddFast || len(p.Targets) != 1 {
		return out, fault.Newf(fault.InvalidArgument, "run %s is not done by one model call", r.Ref.Run)
	}
	return OneCall{Run: r, Spec: w.Spec, Pinned: p, Subject: p.Targets[0]}, nil
}

// Guidance is what the caller wants to be remembered, in its words.
func (c OneCall) Guidance() string { return c.Pinned.choices().Guidance }

// Actor returns the actor of the writes of the run.
func (c OneCall) Actor(step string, call int) agent.Actor {
	a := actor(agentrun.RunView{Run: c.Run, Spec: c.Spec}, step, call)
	a.Subject = agent.MemoryScope{Type: string(c.Subject.Type), Target: c.Subject.Target, Author: c.Pinned.Author,
		Metadata: c.Pinned.choices().Metadata, Categories: c.Pinned.choices().Categories}
	return a
}

// Fallback returns a summary of a session without a model: the speakers and the first line.
func Fallback(messages []transcript.Message) string {
	who, first := speakers(messages)
	return fmt.Sprintf("A session of %d messages with %s. It began: %s", len(messages), who, first)
}
