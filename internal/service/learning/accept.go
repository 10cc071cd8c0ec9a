package learning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/memoryagent"
)

// BuildRequest asks to make memories of a session.
type BuildRequest struct {
	Workspace    int64
	WorkspaceKey string
	Trace        string // the caller's id of the session; empty takes it from the content
	Messages     []transcript.Message
	Bank         string // empty is the default one
	Fresh        bool   // again although it was done before, and pay again
	Spec         Spec
	Keeping      SpanOptions
}

// Build makes a session durable with the run that remembers it, and has its
// workflow started. The same request gives the same run.
func (s *Service) Build(ctx context.Context, r BuildRequest) (out run.Run, err error) {
	r.Keeping = r.Keeping.usual(DefaultKeeping().K)
	if err := r.Keeping.check(); err != nil {
		return out, err
	}
	said := memory.Said(r.Messages)
	if len(said) == 0 {
		return out, fault.New(fault.InvalidArgument, "the session has no messages beside those of the system", "send what was said")
	}
	for i := range said {
		said[i].Seq = i
	}
	args, err := json.Marshal(struct {
		Messages []transcript.Message
		Bank     string
	}{said, r.Bank})
	if err != nil {
		return out, fmt.Errorf("encode the request: %w", err)
	}
	sha := sha256.Sum256(args)
	if r.Trace == "" {
		r.Trace = fmt.Sprintf("%x", sha[:10])
	}
	err = s.Store.WithEvolve(ctx, r.Workspace, func(ctx context.Context, tx Tx) error {
		before, found, err := tx.Runs().RunOf(ctx, run.Build, r.Trace)
		if err != nil {
			return err
		}
		if found && before.ArgsSHA != sha {
			return fault.New(fault.OpReused, fmt.Sprintf("trace %q was built before from other messages or with another bank", r.Trace), "use another id")
		}
		if found && !r.Fresh {
			out = before
			return nil
		}
		id, err := tx.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "trace/" + r.Trace, Messages: said}, "import")
		if err != nil {
			return err
		}
		out, err = s.acceptBuild(ctx, tx, r, said, false, memoryagent.NewRun{Kind: run.Build, Key: r.Trace, Generation: before.Generation + 1, ArgsSHA: sha, Conversation: id,
			WorkflowID: contract.BuildID(r.WorkspaceKey, contract.VisibleKey(r.Trace), before.Generation+1)})
		return err
	})
	if err == nil {
		s.start(ctx, r.WorkspaceKey, out)
	}
	return out, err
}

// Idle is a conversation in which nobody has said anything for a while.
type Idle struct {
	Workspace    int64
	WorkspaceKey string
	Conversation int64
	Spec         Spec
	Keeping      SpanOptions
}

// BuildIdle has what was said since the last time remembered, where the workspace
// builds its memories with memory skills. Out is nil when there is nothing to do.
// Its mark is that of the agents: a workspace that changes its builder goes on
// where the other one stopped.
func (s *Service) BuildIdle(ctx context.Context, in Idle) (out *run.Run, err error) {
	err = s.Store.WithEvolve(ctx, in.Workspace, func(ctx context.Context, tx Tx) error {
		out = nil
		chosen, err := tx.Workspace().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderSkills {
			return err
		}
		c, err := tx.Workspace().LockConversation(ctx, in.Conversation)
		if err != nil {
			return err
		}
		read, err := tx.Workspace().Mark(ctx, in.Conversation, run.Summarize)
		if err != nil || read+1 > c.NextSeq-1 {
			return err
		}
		from, to := read+1, c.NextSeq-1
		if _, open, err := tx.Runs().OpenRunOf(ctx, run.Build, in.Conversation); err != nil || open {
			return err
		}
		whole, err := tx.Transcripts().Conversation(ctx, in.Conversation, from, to)
		if err != nil {
			return err
		}
		said := memory.Said(whole.Messages)
		if len(said) == 0 {
			return nil
		}
		bank, err := s.bank(ctx, tx, DefaultBank)
		if err != nil {
			return err
		}
		if err := s.corrections(ctx, tx, bank.ID, in.Conversation, from, to); err != nil {
			return err
		}
		key := fmt.Sprintf("idle/%d/%d-%d", in.Conversation, from, to)
		before, _, err := tx.Runs().RunOf(ctx, run.Build, key) // one that failed is done again
		if err != nil {
			return err
		}
		if in.Keeping.Mode, err = cutting(ctx, tx, in.Keeping.Mode); err != nil {
			return err
		}
		r, err := s.acceptBuild(ctx, tx, BuildRequest{Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Spec: in.Spec, Keeping: in.Keeping}, said, true,
			memoryagent.NewRun{Kind: run.Build, Key: key, Generation: before.Generation + 1, ArgsSHA: sha256.Sum256([]byte(key)), Conversation: in.Conversation,
				WorkflowID: contract.BuildID(in.WorkspaceKey, fmt.Sprintf("idle-%d-%d", in.Conversation, to), before.Generation+1)})
		out = &r
		return err
	})
	if err == nil && out != nil {
		s.start(ctx, in.WorkspaceKey, *out)
	}
	return out, err
}

// cutting is how the workspace wants its sessions cut; usual where it has not said.
func cutting(ctx context.Context, tx Tx, usual string) (string, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	return cmp.Or(chosen.Memory.Spans, usual), err
}

func (s *Service) acceptBuild(ctx context.Context, tx Tx, r BuildRequest, said []transcript.Message, idle bool, n memoryagent.NewRun) (out run.Run, err error) {
	name := r.Bank
	if name == "" {
		name = DefaultBank
	}
	head, err := s.bank(ctx, tx, name)
	if err != nil {
		return out, err
	}
	if head, err = s.pinned(ctx, tx, head); err != nil {
		return out, err
	}
	spec := BuildSpec{Spec: r.Spec, Keeping: r.Keeping, Lang: language(said), Bank: name, BankID: head.ID, Version: head.Version.Number, FromSeq: said[0].Seq, ToSeq: said[len(said)-1].Seq, Idle: idle,
		Tainted: slices.ContainsFunc(said, func(m transcript.Message) bool {
			return m.Role == transcript.Tool && len(guard.Scan(m.Content, guard.Context)) > 0
		})}
	if spec.Model, err = spec.Model.instructed(); err != nil {
		return out, err
	}
	spec.Author = spec.Model.Name + "@" + prompt.Hash(spec.Model.Instructions[instructionKey(prompt.Remember, spec.Lang)])
	if n.Spec, err = json.Marshal(spec); err != nil {
		return out, fmt.Errorf("encode the configuration: %w", err)
	}
	if out, err = tx.Runs().PutAgentRun(ctx, n); err != nil || out.Status == run.Ended {
		return out, err
	}
	return out, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}

// pinned is the version that live choices are made with: the one in force, or that
// which a frozen workspace names for its default bank.
func (s *Service) pinned(ctx context.Context, tx Tx, head Head) (Head, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	l := chosen.Memory.Learning
	if err != nil || !l.Frozen || l.Version == 0 || l.Version == head.Head || head.Name != DefaultBank {
		return head, err
	}
	at, err := s.at(ctx, tx, head.BankRow, l.Version)
	if fault.CodeOf(err) == fault.NotFound {
		err = fault.New(fault.NotFound, fmt.Sprintf("memory.learning.version is %d, and bank %q has no such version", l.Version, head.Name), "`cairn bank show --history` lists the versions; 0 is the one in force")
	}
	return at, err
}

// language is that of a prompt's template.
func language(said []transcript.Message) string {
	if lang.OfMessages(said) == lang.Chinese {
		return "zh"
	}
	return "en"
}
