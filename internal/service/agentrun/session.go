package agentrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/settings"
	"cairn/internal/service/tools"
	"cairn/internal/store"
)

// sessions returns the key of the sessions that a turn may use: channel, agent, tool groups, denied tools, whether
// the conversation has offloaded content, and the client's tools. Only sessions of offloaded conversations have the
// tools that read it.
func (s Spec) sessions(offloaded bool) string {
	name := s.Channel
	if s.Agent != "" {
		name += "/" + s.Agent
	}
	for _, set := range s.Toolsets {
		name += "+" + string(set)
	}
	for _, tool := range s.Denied {
		name += "-" + tool
	}
	if offloaded {
		name += "/offloaded"
	}
	if len(s.Client.Tools) > 0 {
		raw, _ := json.Marshal(s.Client.Tools) // strings and valid JSON always marshal
		sum := sha256.Sum256(raw)
		name += "/client-" + hex.EncodeToString(sum[:8])
	}
	return name
}

func (st *runState) sessions() string { return st.spec.sessions(st.turn.Record.Upto > 0) }

// freezeRounds limits how often a session is rendered again because sessions were revoked in the meantime.
const freezeRounds = 5

// freezeSession gives the turn a new session, or the one that another turn has stored in the meantime.
func (s *Service) freezeSession(ctx context.Context, st *runState) error {
	for range freezeRounds {
		if stored, err := s.tryFreeze(ctx, st); err != nil || stored {
			return err
		}
	}
	return fault.New(fault.Unavailable, "prompt session was revoked during each attempt to create it", "")
}

func (s *Service) tryFreeze(ctx context.Context, st *runState) (stored bool, err error) {
	ws := st.run.Workspace
	fresh, err := s.freeze(ctx, ws, st.spec, st.turn.Record.Upto > 0)
	if err != nil {
		return false, err
	}
	err = s.Store.InWorkspaceByKeys(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		// Another turn may have stored a session while this one was rendered.
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
		st.hasSession = err == nil
		stored = st.hasSession
		return err
	})
	return stored, err
}

// freeze renders a session from the current memories and skills.
func (s *Service) freeze(ctx context.Context, ws int64, spec Spec, offloaded bool) (conversation.Session, error) {
	specs := slices.DeleteFunc(s.turnTools(spec).Offered(spec.Origin), func(t agent.ToolSpec) bool {
		return !offloaded && slices.Contains(tools.Working, t.Name)
	})
	out := conversation.Session{Channel: spec.sessions(offloaded), Lang: spec.Lang,
		Tools: append(offered(specs), spec.Client.Tools...)}
	err := s.Store.InWorkspaceByKeys(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		out.Epoch, err = tx.Sessions().SessionEpoch(ctx)
		return err
	})
	if err != nil {
		return conversation.Session{}, err
	}
	known, err := s.Memory.Remembered(ctx, ws)
	if err != nil {
		return conversation.Session{}, fmt.Errorf("read the session context: %w", err)
	}
	if spec.Agent == settings.Remy {
		if known.Identity, known.Meta, err = s.Memory.About(ctx, ws); err != nil {
			return conversation.Session{}, fmt.Errorf("read the identity and the memory targets: %w", err)
		}
	}
	if out.Rendered, err = prompt.Session(spec.Lang, spec.Channel, known); err != nil {
		return conversation.Session{}, err
	}
	raw, err := json.Marshal(out.Tools)
	if err != nil {
		return conversation.Session{}, fmt.Errorf("encode the tools: %w", err)
	}
	out.SHA = sha256.Sum256(append([]byte(out.Rendered+"\x00"), raw...))
	return out, nil
}

// offered converts tools to the form of a model request, in their order.
func offered(specs []agent.ToolSpec) []llm.Tool {
	out := make([]llm.Tool, len(specs))
	for i, t := range specs {
		out[i] = llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Input}
	}
	return out
}
