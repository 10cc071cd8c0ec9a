package memoryagent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Finish adds the targets to the summary of the session. If the agent wrote no summary, Finish
// writes a simple one, so that search can find the session.
func (s AgentHooks) Finish(ctx context.Context, w agentrun.RunView, e run.Result) (json.RawMessage, error) {
	if w.Run.Kind != run.Summarize {
		return nil, nil
	}
	p, err := pinned(w)
	if err != nil {
		return nil, err
	}
	out := Summary{Parts: len(p.Parts)}
	if out.History, err = s.history(ctx, w, p); err != nil {
		return json.Marshal(out) // the session is not stored, so it needs no summary
	}
	if out.Tasks, err = s.tasks(ctx, w.Run); err != nil {
		return nil, err
	}
	a := actor(w, "finish", 0)
	a.Subject = agent.MemoryScope{History: out.History, Author: p.Author}
	var about []memory.Task
	for _, t := range out.Tasks {
		if one := (memory.Task{Type: t.Type, Target: t.Target}); !slices.Contains(about, one) {
			about = append(about, one)
		}
	}
	digest := func() (found bool, err error) {
		err = s.LongTerm.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
			known, has, err := tx.LongTerm().DigestOf(ctx, out.History, "")
			out.Digest, found = known.ID, has
			return err
		})
		return found, err
	}
	found, err := digest()
	if err != nil {
		return nil, err
	}
	switch {
	case found && len(about) > 0:
		_, err = s.LongTerm.SummaryTargets(ctx, a, about)
	case !found && !strings.Contains(e.Text, NoMemoryNeeded):
		out.Fallback = true
		if err = s.fallback(ctx, w, a, about); err == nil {
			_, err = digest()
		}
	}
	if err != nil {
		return nil, err
	}
	if to, any := readTo(w, p, e.Reason); any {
		err = s.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
			return tx.AgentRuns().SetMark(ctx, w.Run.Conversation, run.Summarize, to, w.Run.Ref.Run)
		})
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// fallback writes a summary without a model: the speakers and the first line. If the first line
// cannot be stored, fallback omits it.
func (s AgentHooks) fallback(ctx context.Context, w agentrun.RunView, a agent.Actor, about []memory.Task) error {
	messages, err := s.messages(ctx, w)
	if err != nil {
		return err
	}
	for call, text := range []string{Fallback(messages), fmt.Sprintf("A session of %d messages.", len(messages))} {
		a.Op = w.Run.Op("finish", call+1)
		if _, err = s.LongTerm.AddSummary(ctx, a, memories.SummaryArgs{Content: text, Targets: about}); err == nil ||
			fault.Table[fault.CodeOf(err)].Retryable || fault.CodeOf(err) == fault.Internal {
			return err
		}
	}
	return nil // no summary of the session can be stored
}

// firstRunes is the length of the first line in a fallback summary, in runes.
const firstRunes = 200

func speakers(messages []transcript.Message) (who, first string) {
	var names []string
	for _, m := range messages {
		name := m.Name
		if name == "" || m.Role == transcript.Tool {
			name = string(m.Role)
		}
		if !slices.Contains(names, name) && len(names) < 5 {
			names = append(names, name)
		}
		if first == "" && m.FromHuman() && strings.TrimSpace(m.Content) != "" {
			first, _, _ = strings.Cut(strings.TrimSpace(m.Content), "\n")
		}
	}
	return strings.Join(names, ", "), clip(first, firstRunes)
}

func clip(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}
