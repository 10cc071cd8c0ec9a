package distill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Request requests the distillation of a conversation.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	// ID of the request, set by the caller; if empty, it is derived from the conversation and the options
	ID           string
	ByID         bool // the ID alone identifies the request, because the conversation may have grown since
	Conversation transcript.Conversation
	Channel      string
	Spec         Spec // configuration to pin; Accept sets the instructions and the message range
	From         int  // first message to distill; earlier ones are history
	Fresh        bool // repeat an earlier request, with new model calls
}

// channels are the sources of conversations.
var channels = []string{"voice", "sms", "chat", "scheduled", "import"}

// Accept stores a request and returns its run. Made reports whether the run is new. The same
// request returns the same run.
func (s *Service) Accept(ctx context.Context, r Request) (out run.Run, made bool, err error) {
	n := len(r.Conversation.Messages)
	if n == 0 {
		return run.Run{}, false, fault.New(fault.InvalidArgument, "the conversation has no messages",
			"send at least one message")
	}
	if !slices.Contains(channels, r.Channel) {
		return run.Run{}, false, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid channel %q", r.Channel),
			"use one of "+strings.Join(channels, ", "))
	}
	spec := r.Spec
	if _, err := transcript.ParseVerdict(string(spec.Outcome)); err != nil {
		return run.Run{}, false, err
	}
	if r.From < 0 || r.From >= n {
		return run.Run{}, false, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid first message %d: the conversation has %d messages", r.From, n),
			fmt.Sprintf("use a position from 0 to %d", n-1))
	}
	spec.From, spec.To = r.From, n-1
	args, err := json.Marshal(struct {
		Conversation string
		Messages     []transcript.Message
		Options      Options
		From         int `json:",omitempty"`
	}{r.Conversation.ID, transcript.WithoutPlaces(r.Conversation.Messages), spec.Options, r.From})
	if err != nil {
		return run.Run{}, false, fmt.Errorf("encode the request: %w", err)
	}
	if r.ByID {
		args = []byte(r.ID)
	}
	sha := sha256.Sum256(args)
	if r.ID == "" {
		r.ID = fmt.Sprintf("%x", sha[:10])
	}
	raw, err := spec.pin()
	if err != nil {
		return run.Run{}, false, err
	}
	return s.Store.Accept(ctx, distillation.AcceptedRequest{Workspace: r.Workspace, Key: r.ID, ArgsSHA: sha, Spec: raw,
		Conversation: r.Conversation, Channel: r.Channel, Fresh: r.Fresh,
		WorkflowID: func(generation, attempt int) string {
			return contract.DistillID(r.WorkspaceKey, contract.VisibleKey(r.ID), generation, attempt)
		}})
}

// RetryRequest requests a retry of an ended run.
type RetryRequest struct {
	run.Ref
	WorkspaceKey string
	Fresh        bool // start a new generation, which repeats all model calls
	Spec         Spec // configuration of a new generation; the options of the request are kept
}

// Retry reopens an ended run or creates its next generation.
func (s *Service) Retry(ctx context.Context, r RetryRequest) (out run.Run, err error) {
	j, err := s.load(ctx, r.Ref, nil)
	if err != nil {
		return run.Run{}, err
	}
	if j.run.Status != run.Ended {
		return run.Run{}, fault.New(fault.VersionConflict,
			fmt.Sprintf("run %s has not ended: status %s", r.Run, j.run.Status),
			"wait until it has ended; `cairn runs show RUN` prints its progress")
	}
	id := func(generation, attempt int) string {
		return contract.DistillID(r.WorkspaceKey, contract.VisibleKey(j.run.Key), generation, attempt)
	}
	if r.Fresh {
		var channel string
		err := s.Store.InWorkspaceByKeys(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
			channel, err = tx.Transcripts().Channel(ctx, j.run.Conversation)
			return err
		})
		if err != nil {
			return run.Run{}, err
		}
		spec := r.Spec
		spec.Options, spec.From, spec.To = j.spec.Options, j.spec.From, j.spec.To
		raw, err := spec.pin()
		if err != nil {
			return run.Run{}, err
		}
		out, _, err = s.Store.Accept(
			ctx,
			distillation.AcceptedRequest{Workspace: r.Workspace, Key: j.run.Key, ArgsSHA: j.run.ArgsSHA,
				Spec: raw, Conversation: j.conv, Channel: channel, Fresh: true, WorkflowID: id},
		)
		return out, err
	}
	err = s.Store.InWorkspaceByKeys(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Runs().Reopen(ctx, j.run, id(j.run.Generation, j.run.Attempt+1)); err != nil {
			return err
		}
		out, err = tx.Runs().Run(ctx, r.Run)
		return err
	})
	return out, err
}
