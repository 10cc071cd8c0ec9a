package agentrun

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/settings"
	"cairn/internal/service/tools"
)

// Session is the exact beginning of every request of a channel for a while:
// providers keep what they computed of a prompt's beginning, so nothing in it
// may change from turn to turn.
type Session struct {
	ID        int64
	Channel   string
	Lang      string
	Rendered  string
	Tools     []llm.Tool
	SHA       [32]byte // of both
	Epoch     int64    // of the workspace's sessions, when what it tells was read
	CreatedAt time.Time
	ExpiresAt time.Time
}

// sessions names the sessions that a turn may have: those of its channel, of the
// agent that answers, of the groups of tools that it may use, and of
// conversations that have put something away, which alone have the tools that
// look into it.
func (s Spec) sessions(offloaded bool) string {
	name := s.Channel
	if s.Agent != "" {
		name += "/" + s.Agent
	}
	for _, set := range s.Toolsets {
		name += "+" + string(set)
	}
	if offloaded {
		name += "/offloaded"
	}
	return name
}

func (st *runState) sessions() string { return st.spec.sessions(st.turn.Record.Upto > 0) }

// freezeRounds bounds how often a session is rendered anew because something
// was taken away meanwhile.
const freezeRounds = 5

// freezeSession gives a turn a fresh session, or the one that somebody else froze
// meanwhile.
func (s *Service) freezeSession(ctx context.Context, st *runState) error {
	for range freezeRounds {
		if stored, err := s.tryFreeze(ctx, st); err != nil || stored {
			return err
		}
	}
	return fault.New(fault.Unavailable, "what the session tells is being taken away faster than it can be read", "")
}

func (s *Service) tryFreeze(ctx context.Context, st *runState) (stored bool, err error) {
	ws := st.run.Workspace
	fresh, err := s.freeze(ctx, ws, st.spec, st.turn.Record.Upto > 0)
	if err != nil {
		return false, err
	}
	err = s.Store.WithRuns(ctx, ws, func(ctx context.Context, tx Tx) error {
		// Whoever froze one while we rendered ours was first.
		if err := tx.Sessions().LockSessions(ctx, st.sessions()); err != nil {
			return err
		}
		live, found, err := tx.Sessions().LiveSession(ctx, st.sessions(), st.spec.Lang)
		if err == nil && !found {
			if live, found, err = tx.Sessions().PutSession(ctx, fresh, st.spec.SessionTTL); err == nil && !found {
				return nil
			}
		}
		if err != nil {
			return err
		}
		st.session, err = tx.Sessions().KeepSession(ctx, st.run.Ref.Run, live)
		st.kept = err == nil
		stored = st.kept
		return err
	})
	return stored, err
}

// freeze renders a session from what is remembered now.
func (s *Service) freeze(ctx context.Context, ws int64, spec Spec, offloaded bool) (Session, error) {
	specs := slices.DeleteFunc(s.turnTools(spec).Offered(spec.Origin), func(t agent.ToolSpec) bool {
		return !offloaded && slices.Contains(tools.Working, t.Name)
	})
	out := Session{Channel: spec.sessions(offloaded), Lang: spec.Lang, Tools: offered(specs)}
	err := s.Store.WithRuns(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
		out.Epoch, err = tx.Sessions().SessionEpoch(ctx)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	known, err := s.Memory.Remembered(ctx, ws)
	if err != nil {
		return Session{}, fmt.Errorf("read what is remembered: %w", err)
	}
	if spec.Agent == settings.Remy {
		if known.Identity, known.Meta, err = s.Memory.About(ctx, ws); err != nil {
			return Session{}, fmt.Errorf("read what there are memories about: %w", err)
		}
	}
	if out.Rendered, err = prompt.Session(spec.Lang, spec.Channel, known); err != nil {
		return Session{}, err
	}
	raw, err := json.Marshal(out.Tools)
	if err != nil {
		return Session{}, fmt.Errorf("encode the tools: %w", err)
	}
	out.SHA = sha256.Sum256(append([]byte(out.Rendered+"\x00"), raw...))
	return out, nil
}

// offered are tools as models are told of them, in their order.
func offered(specs []agent.ToolSpec) []llm.Tool {
	out := make([]llm.Tool, len(specs))
	for i, t := range specs {
		out[i] = llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Input}
	}
	return out
}
