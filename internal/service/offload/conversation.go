package offload

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// ConversationCompactor compacts conversations.
type ConversationCompactor struct {
	*Service
	Spec func() Spec // returns the configuration of a new run
}

var _ agentrun.Compactor = ConversationCompactor{}

// Begin starts the compaction of a conversation up to a turn. In one transaction it stores the
// messages verbatim and creates the run and, if needed, the run of the review before it, once per
// turn. If the caller cannot wait for a model, the record is created at once by fixed rules.
func (c ConversationCompactor) Begin(ctx context.Context, o agentrun.Overflow) (*contract.OffloadToStart,
	error) {
	spec := c.Spec()
	spec.Lang = o.Lang
	var err error
	if spec.System, err = prompt.Instructions(prompt.Compress, spec.Lang); err != nil {
		return nil, err
	}
	spec.Cycle = &Cycle{After: o.After, Upto: o.Upto, Tokens: o.Tokens}
	ms := make([]transcript.Message, len(o.Said))
	for i, m := range o.Said {
		ms[i] = m.Message
	}
	groups, err := workingmemory.GroupsOf(ms, 0, len(ms), spec.Limits.MaterialTokens)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		groups[i].Blob.Label = fmt.Sprintf("messages %d to %d of the conversation", ms[g.From].Seq+1, ms[g.To-1].Seq+1)
		spec.Groups = append(spec.Groups, Group{Handle: g.Blob.Handle(), Messages: g.To - g.From})
	}
	key := fmt.Sprintf("%d/%d", o.Conversation, o.Upto)
	var made run.Run
	var workspace string
	err = c.Store.InWorkspace(ctx, o.Workspace, func(ctx context.Context, tx store.Tx) error {
		if workspace, err = tx.Workspaces().Key(ctx); err != nil {
			return err
		}
		var found bool
		if made, found, err = tx.Runs().RunOf(ctx, run.Offload, key); err != nil || found {
			return err
		}
		blobs := make([]workingmemory.Blob, len(groups))
		for i, g := range groups {
			blobs[i] = g.Blob
		}
		if err := putAll(ctx, tx, workingmemory.Session{Conversation: o.Conversation}, blobs, 0); err != nil {
			return err
		}
		made, err = c.record(ctx, tx, o, key, workspace, spec)
		return err
	})
	if err != nil || made.Status == run.Ended {
		return nil, err
	}
	if o.AtOnce {
		_, err := c.close(ctx, contract.CloseOffloadInput{RunRef: contract.RefOf(workspace, made), Code: "wall_clock",
			Why: "the time limit leaves no room for a model call"})
		return nil, err
	}
	in, err := Input(workspace, made)
	return &contract.OffloadToStart{WorkflowID: made.WorkflowID, Input: in}, err
}

// record creates the run of a cycle and the run of its review.
func (c ConversationCompactor) record(ctx context.Context, tx store.Tx, o agentrun.Overflow, key, workspace string,
	spec Spec) (out run.Run, err error) {
	put := func(kind run.Kind, parent string, spec any, workflow string) (run.Run, error) {
		raw, err := json.Marshal(spec)
		if err != nil {
			return run.Run{}, fmt.Errorf("encode the configuration: %w", err)
		}
		return tx.AgentRuns().PutAgentRun(ctx, run.NewAgentRun{Kind: kind, Key: key, Generation: 1,
			ArgsSHA: sha256.Sum256([]byte(key)), Conversation: o.Conversation, Parent: parent, Spec: raw,
			WorkflowID: workflow})
	}
	workflow := contract.OffloadID(workspace, fmt.Sprintf("%d-%d", o.Conversation, o.Upto), 1)
	if o.Flush != nil && !o.AtOnce {
		flush, err := put(run.Flush, "", o.Flush, workflow)
		if err != nil {
			return out, err
		}
		spec.Cycle.Flush, spec.Cycle.Budget, spec.Cycle.Pace = flush.Ref.Run, o.Flush.Budget, o.Flush.Timing
	}
	if out, err = put(run.Offload, "", spec, workflow); err != nil || out.Status == run.Ended {
		return out, err
	}
	return out, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}

// Input returns the input of a run's workflow.
func Input(workspaceKey string, r run.Run) (in contract.OffloadInput, err error) {
	spec, err := SpecOf(r)
	if err != nil {
		return in, err
	}
	ref := contract.RefOf(workspaceKey, r)
	in = contract.OffloadInput{RunRef: ref, Groups: len(spec.Groups),
		Timeouts: agentrun.Spec{Timing: spec.Timing}.Timeouts()}
	if c := spec.Cycle; c != nil && c.Flush != "" {
		ref.Run = c.Flush
		in.Flush = &contract.AgentInput{RunRef: ref, Kind: string(run.Flush), Conversation: r.Conversation,
			Number: c.Upto, Budget: c.Budget, Timeouts: agentrun.Spec{Timing: c.Pace}.Timeouts(),
			Queue: contract.QueueBatch}
	}
	return in, nil
}

// closeCycle stores the new record of a conversation. If no model has produced one, it is created
// by fixed rules: it lists the user messages, and the rest can be found in the offloaded content.
func (s *Service) closeCycle(ctx context.Context, j job, out *CompactionResult) error {
	content := strings.Join(out.Records, "\n\n")
	if out.Degraded != "" {
		texts := []string{}
		if j.record != "" {
			texts = append(texts, transcript.Clip(j.record, ruleRunes*rulesKept))
		}
		for i, g := range j.spec.Groups {
			b, err := s.blob(ctx, j.run.Workspace, workingmemory.Where{Handle: g.Handle})
			if err != nil {
				return err
			}
			ms, err := b.Messages()
			if err != nil {
				return err
			}
			texts = append(texts, byRule(ms).Render(j.spec.Lang, j.spec.Groups[i].Handle, g.Messages))
		}
		content = strings.Join(texts, "\n\n")
	}
	*out = CompactionResult{Degraded: out.Degraded,
		Tokens: workingmemory.Tokens([]transcript.Message{{Content: content}}), Upto: j.spec.Cycle.Upto,
		Was: j.spec.Cycle.Tokens, Flush: j.spec.Cycle.Flush}
	for _, g := range j.spec.Groups {
		out.Handles = append(out.Handles, g.Handle)
	}
	return s.Store.InWorkspace(ctx, j.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Offloads().PutCompaction(ctx,
			workingmemory.Compaction{Conversation: j.run.Conversation, Upto: out.Upto, Run: j.run.Ref.Run,
				Content: content,
				Tokens:  out.Tokens, Degraded: out.Degraded}); err != nil {
			return err
		}
		return tx.Runs().EndRun(ctx, j.run.Ref.Run, outcomeOf(*out), out.Degraded, out)
	})
}

// Limits of a record created by rules.
const (
	ruleRunes = 200 // of one message
	rulesKept = 24  // number of messages, the latest
)

// byRule creates a record without a model: the latest user messages, in order.
func byRule(ms []transcript.Message) (s workingmemory.Snapshot) {
	for _, m := range ms {
		text := transcript.Clip(strings.Join(strings.Fields(m.Content), " "), ruleRunes)
		if m.Role != transcript.User || text == "" {
			continue
		}
		if s.Goal == "" {
			s.Goal = text
		}
		s.KeyFacts = append(s.KeyFacts, text)
	}
	s.KeyFacts = s.KeyFacts[max(0, len(s.KeyFacts)-rulesKept):]
	return s
}
