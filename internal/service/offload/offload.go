package offload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/store"
)

// Request requests to shorten a thread.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // ID of the request, set by the caller; if empty, it is derived from the messages and options
	Session      string // name under which the offloaded content is searched together; may be empty
	Messages     []transcript.Message
	Options      workingmemory.Options
	TTL          time.Duration
	Wait         time.Duration // time limit for the model; after it, the original messages are returned
	Spec         Spec
}

// OffloadedItem is one piece of offloaded content.
type OffloadedItem struct {
	Handle string             `json:"handle"`
	Kind   workingmemory.Kind `json:"kind"`
	Label  string             `json:"label"`
	Chars  int                `json:"chars"`
}

// ShortenedThread is the result of a request. If Degraded is set, it holds the original messages,
// and Reason states why.
type ShortenedThread struct {
	Messages     []transcript.Message `json:"messages"`
	Mode         workingmemory.Mode   `json:"mode,omitempty"` // applied mode; empty if nothing had to be done
	TokensBefore int                  `json:"tokens_before"`
	TokensAfter  int                  `json:"tokens_after"`
	Away         []OffloadedItem      `json:"offloaded"`
	Degraded     bool                 `json:"degraded"`
	Reason       string               `json:"reason,omitempty"`
	Run          string               `json:"run,omitempty"` // run of the model's work, "" without one
}

// Limits of a request.
const (
	maxSession  = 200 // runes
	MaxMessages = 5_000
	MaxTTL      = 366 * 24 * time.Hour
)

func (r *Request) check() (err error) {
	if r.Options, err = r.Options.Complete(); err != nil {
		return err
	}
	switch {
	case len(r.Messages) == 0 || len(r.Messages) > MaxMessages:
		return fault.Newf(fault.InvalidArgument, "invalid number of messages %d: must be 1 to %d", len(r.Messages),
			MaxMessages)
	case r.TTL <= 0 || r.TTL > MaxTTL:
		return fault.Newf(fault.InvalidArgument, "invalid ttl %s: the maximum is %s", r.TTL, MaxTTL)
	}
	if err := checkSession(r.Session); err != nil {
		return err
	}
	called := map[string]bool{}
	for i, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if c.ID == "" || called[c.ID] {
				return fault.Newf(fault.InvalidArgument, "message %d has a tool call without a unique ID", i)
			}
			called[c.ID] = true
		}
		if m.Role == transcript.Tool && !called[m.ToolCallID] {
			return fault.New(fault.InvalidArgument,
				fmt.Sprintf("message %d is the result of call %q, which no earlier message makes", i, m.ToolCallID),
				"send each call before its result")
		}
	}
	return nil
}

func checkSession(name string) error {
	if utf8.RuneCountInString(name) > maxSession || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return fault.New(fault.InvalidArgument,
			"session name is too long or has unprintable characters",
			fmt.Sprintf("use up to %d printable characters", maxSession))
	}
	return nil
}

// Offload shortens a thread. It returns an error only for invalid input. If a model or Temporal
// fails, it returns the original messages as degraded. The same request returns the same result and
// is paid for once. A degraded request is tried again, unless the caller has given it an ID.
func (s *Service) Offload(ctx context.Context, r Request) (out ShortenedThread, err error) {
	if err := r.check(); err != nil {
		return out, err
	}
	out = ShortenedThread{Messages: r.Messages, TokensBefore: workingmemory.Tokens(r.Messages)}
	out.TokensAfter = out.TokensBefore
	if r.Options.Mode != workingmemory.ByCompress {
		short, away := workingmemory.Compact(r.Messages, r.Options)
		after := workingmemory.Tokens(short)
		if r.Options.Mode == workingmemory.ByCompact || float64(after) <= r.Options.Ratio*float64(out.TokensBefore) {
			if len(away) == 0 {
				return out, nil
			}
			out.Messages, out.TokensAfter, out.Mode = short, after, workingmemory.ByCompact
			err := s.put(ctx, r, away, &out)
			return out, err
		}
	}
	groups, err := workingmemory.Groups(r.Messages, r.Options)
	if err != nil || len(groups) == 0 {
		return out, err
	}
	result, err := s.records(ctx, r, groups, &out)
	if err != nil {
		return out, err
	}
	if result.Degraded != "" {
		out.Degraded, out.Reason = true, result.Degraded
		return out, nil
	}
	short := workingmemory.Compressed(r.Messages, groups, result.Records)
	if after := workingmemory.Tokens(short); after < out.TokensBefore {
		out.Messages, out.TokensAfter, out.Mode = short, after, workingmemory.ByCompress
	} else {
		out.Degraded, out.Reason = true, "the records are not shorter than the messages"
		return out, nil
	}
	for _, g := range groups {
		out.Away = append(out.Away, away(g.Blob))
	}
	return out, nil
}

// put stores the offloaded content.
func (s *Service) put(ctx context.Context, r Request, blobs []workingmemory.Blob, out *ShortenedThread) error {
	for _, b := range blobs {
		out.Away = append(out.Away, away(b))
	}
	return s.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		return putAll(ctx, tx, workingmemory.Session{Name: r.Session}, blobs, r.TTL)
	})
}

// unnamed is the session of content that was offloaded without a name.
const unnamed = "-"

func putAll(ctx context.Context, tx store.Tx, session workingmemory.Session, blobs []workingmemory.Blob,
	ttl time.Duration) error {
	if session.Key() == "" {
		session.Name = unnamed
	}
	for _, b := range blobs {
		if err := tx.Offloads().PutOffloaded(ctx, session, b, ttl); err != nil {
			return err
		}
	}
	return nil
}

func away(b workingmemory.Blob) OffloadedItem {
	return OffloadedItem{Handle: b.Handle(), Kind: b.Kind, Label: b.Label, Chars: utf8.RuneCountInString(b.Content)}
}

// records starts a run that creates the records of groups, and waits for it.
func (s *Service) records(ctx context.Context, r Request, groups []workingmemory.Group,
	out *ShortenedThread) (CompactionResult, error) {
	if s.Starter == nil {
		return CompactionResult{Degraded: "unavailable: Temporal is not configured"}, nil
	}
	made, err := s.accept(ctx, r, groups)
	if err != nil {
		return CompactionResult{}, err
	}
	out.Run = made.Ref.Run
	if made.Status != run.Ended {
		waiting, cancel := context.WithTimeout(ctx, r.Wait)
		defer cancel()
		err := s.Starter.Start(ctx, r.WorkspaceKey, "", made)
		if err == nil {
			err = s.Starter.Ended(waiting, made.WorkflowID)
		}
		if waiting.Err() != nil {
			return CompactionResult{Degraded: "timeout: the records are not ready; repeat the request later"},
				nil
		}
		if err != nil {
			return CompactionResult{Degraded: string(fault.CodeOf(err)) + ": " + fault.From(err).Message}, nil
		}
	}
	return s.result(ctx, made.Ref)
}

func (s *Service) result(ctx context.Context, ref run.Ref) (out CompactionResult, err error) {
	err = s.Store.InWorkspace(context.WithoutCancel(ctx), ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status != run.Ended {
			out = CompactionResult{Degraded: "unavailable: the work was interrupted; repeat the request to continue"}
			return nil
		}
		out, err = resultOf(r)
		return err
	})
	return out, err
}

// accept stores the groups, the run and its outbox task in one transaction.
func (s *Service) accept(ctx context.Context, r Request, groups []workingmemory.Group) (out run.Run, err error) {
	spec := r.Spec
	spec.Lang = lang.OfMessages(r.Messages)
	if spec.System, err = prompt.Instructions(prompt.Compress, spec.Lang); err != nil {
		return out, err
	}
	blobs := make([]workingmemory.Blob, len(groups))
	for i, g := range groups {
		blobs[i] = g.Blob
		spec.Groups = append(spec.Groups, Group{Handle: g.Blob.Handle(), Messages: g.To - g.From})
	}
	sha, err := r.sha()
	if err != nil {
		return out, err
	}
	key := r.ID
	if key == "" {
		key = "sha-" + hex.EncodeToString(sha[:12])
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return out, fmt.Errorf("encode the configuration: %w", err)
	}
	err = s.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := putAll(ctx, tx, workingmemory.Session{Name: r.Session}, blobs, r.TTL); err != nil {
			return err
		}
		known, found, err := tx.Runs().RunOf(ctx, run.Offload, key)
		if err != nil {
			return err
		}
		generation := 1
		if found {
			if known.ArgsSHA != sha {
				return fault.New(fault.OpReused, fmt.Sprintf(
					"request %q was already sent with other messages or options", key), "use another request ID")
			}
			if again, err := degraded(known); err != nil || r.ID != "" || !again {
				out = known
				return err
			}
			generation = known.Generation + 1
		}
		out, err = tx.AgentRuns().PutAgentRun(ctx,
			run.NewAgentRun{Kind: run.Offload, Key: key, Generation: generation, ArgsSHA: sha, Spec: raw,
				WorkflowID: contract.OffloadID(r.WorkspaceKey, contract.VisibleKey(key), generation)})
		if err != nil {
			return err
		}
		if out.Status == run.Ended { // ended by another request
			return nil
		}
		return tx.Runs().EnqueueRun(ctx, out.Ref.Run)
	})
	return out, err
}

// degraded reports whether a run has ended without records.
func degraded(r run.Run) (bool, error) {
	if r.Status != run.Ended {
		return false, nil
	}
	result, err := resultOf(r)
	return result.Degraded != "", err
}

func (r Request) sha() (sum [sha256.Size]byte, err error) {
	raw, err := json.Marshal(struct {
		Messages []transcript.Message
		Options  workingmemory.Options
	}{r.Messages, r.Options})
	if err != nil {
		return sum, errors.Join(errors.New("encode the request"), err)
	}
	return sha256.Sum256(raw), nil
}
