package build

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Request is a request to build memories from a session.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	Trace        string // session ID of the caller; empty derives it from the content
	Messages     []transcript.Message
	Bank         string // empty means the default bank
	Fresh        bool   // build again, even if the session has a run
	Retry        bool   // build again if the run of the session has failed or was canceled
	Spec         bank.RunSpec
	Keeping      bank.SpanOptions
}

// Accept stores a session and its run, and starts the workflow. The same request returns the same
// run.
func (s *Service) Accept(ctx context.Context, r Request) (out run.Run, err error) {
	r.Keeping = r.Keeping.WithDefaults()
	if err := r.Keeping.Check(); err != nil {
		return out, err
	}
	messages := memory.Dialogue(r.Messages)
	if len(messages) == 0 {
		return out, fault.New(fault.InvalidArgument, "session has no user, assistant or tool messages",
			"send at least one message")
	}
	for i := range messages {
		messages[i].Seq = i
	}
	args, err := json.Marshal(struct {
		Messages []transcript.Message
		Bank     string
	}{messages, r.Bank})
	if err != nil {
		return out, fmt.Errorf("encode the request: %w", err)
	}
	sha := sha256.Sum256(args)
	if r.Trace == "" {
		r.Trace = fmt.Sprintf("%x", sha[:10])
	}
	err = s.ports.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = s.acceptTrace(ctx, tx, r, messages, sha)
		return err
	})
	if err == nil {
		bank.StartRun(ctx, s.ports.Starter, r.WorkspaceKey, out)
	}
	return out, err
}

// acceptTrace stores the session of a request with its run. If the session has a run, acceptTrace
// returns it.
func (s *Service) acceptTrace(ctx context.Context, tx store.Tx, r Request, messages []transcript.Message,
	sha [sha256.Size]byte) (run.Run, error) {
	before, found, err := tx.Runs().RunOf(ctx, run.Build, r.Trace)
	if err != nil {
		return before, err
	}
	if found && before.ArgsSHA != sha {
		return before, fault.New(fault.OpReused,
			fmt.Sprintf("trace %q was built from other messages or with another bank", r.Trace),
			"use a new ID")
	}
	failed := before.Outcome == run.Failed || before.Outcome == run.CancelledOutcome
	if found && !r.Fresh && !(r.Retry && failed) {
		return before, nil
	}
	id, err := tx.Transcripts().PutConversation(ctx,
		transcript.Conversation{ID: "trace/" + r.Trace, Messages: messages}, "import")
	if err != nil {
		return before, err
	}
	return s.accept(ctx, tx, r, messages, false, run.NewAgentRun{Kind: run.Build, Key: r.Trace,
		Generation: before.Generation + 1, ArgsSHA: sha, Conversation: id,
		WorkflowID: contract.BuildID(r.WorkspaceKey, contract.VisibleKey(r.Trace), before.Generation+1)})
}

// accept stores the run of a build with its pinned configuration.
func (s *Service) accept(ctx context.Context, tx store.Tx, r Request, messages []transcript.Message, idle bool,
	n run.NewAgentRun) (out run.Run, err error) {
	name := bank.OrDefault(r.Bank)
	head, err := s.ports.Banks.ReadHead(ctx, tx, name)
	if err != nil {
		return out, err
	}
	if head, err = s.pinnedHead(ctx, tx, head); err != nil {
		return out, err
	}
	if err := bank.Complete(ctx, tx, &r.Keeping, true); err != nil {
		return out, err
	}
	spec := bank.ExtractionSpec{
		RunSpec: r.Spec,
		Keeping: r.Keeping,
		Lang:    bank.LanguageOf(messages),
		Bank:    name,
		BankID:  head.ID,
		Version: head.Version.Number,
		FromSeq: messages[0].Seq,
		ToSeq:   messages[len(messages)-1].Seq,
		Idle:    idle,
		Tainted: slices.ContainsFunc(messages, func(m transcript.Message) bool {
			return m.Role == transcript.Tool && len(guard.Scan(m.Content, guard.Context)) > 0
		}),
	}
	if spec.Model, err = spec.Model.WithInstructions(head.Version.Prompts); err != nil {
		return out, err
	}
	instructions := spec.Model.Instructions[bank.InstructionKey(prompt.Remember, spec.Lang)]
	spec.Author = spec.Model.Name + "@" + prompt.Hash(instructions)
	return bank.AcceptRun(ctx, tx, n, spec)
}

// pinnedHead returns the version for live choices: the active one, or the one that a frozen
// workspace sets for its default bank.
func (s *Service) pinnedHead(ctx context.Context, tx store.Tx, head bank.Head) (bank.Head, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	l := chosen.Memory.Learning
	if err != nil || !l.Frozen || l.Version == 0 || l.Version == head.Head || head.Name != bank.Default {
		return head, err
	}
	at, err := s.ports.Banks.ReadVersion(ctx, tx, head.BankRow, l.Version)
	if fault.CodeOf(err) == fault.NotFound {
		err = fault.New(fault.NotFound, fmt.Sprintf("memory.learning.version: version %d of bank %q not found",
			l.Version, head.Name), "use a version from `cairn bank show --history`, or 0 for the active one")
	}
	return at, err
}
