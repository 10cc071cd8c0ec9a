package memoryagent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Limits of the session text in one request.
const (
	sessionTokens = 24_000
	shortTokens   = sessionTokens / 4 // after the endpoint rejected a longer request
)

// actor returns the actor of an operation that the run itself performs, outside a tool call.
func actor(w agentrun.RunView, step string, call int) agent.Actor {
	return agent.Actor{Workspace: w.Run.Workspace, Origin: w.Spec.Origin, Run: w.Run.Ref.Run,
		Conversation: w.Run.Conversation, FromSeq: w.Spec.FromSeq, ToSeq: w.Spec.ToSeq,
		Op: w.Run.Op(step, call), Tainted: w.Spec.Tainted}
}

// messages returns the session of a run.
func (s *Service) messages(ctx context.Context, w agentrun.RunView) ([]transcript.Message, error) {
	var c transcript.Conversation
	err := s.LongTerm.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = tx.Transcripts().Conversation(ctx, w.Run.Conversation, w.Spec.FromSeq, w.Spec.ToSeq)
		return err
	})
	return memory.Dialogue(c.Messages), err
}

// history returns the ID of the stored session.
func (s *Service) history(ctx context.Context, w agentrun.RunView, p PinnedSpec) (string, error) {
	if p.History != "" || w.Run.Kind == run.Retrieve {
		return p.History, nil
	}
	messages, err := s.messages(ctx, w)
	if err != nil {
		return "", err
	}
	sum, err := memory.HistorySum(w.Run.Workspace, messages)
	if err != nil {
		return "", err
	}
	var h memory.History
	err = s.LongTerm.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		found := false
		if h, found, err = tx.Histories().HistoryBySum(ctx, sum); err == nil && !found {
			err = fmt.Errorf("session of run %s is not stored", w.Run.Ref.Run)
		}
		return err
	})
	return h.ID, err
}

// material returns the newest messages that fit, as a model sees them.
func material(messages []transcript.Message, chars, tokens int) []prompt.Message {
	return newest(rendered(messages, chars), tokens)
}

// Layouts of the time of a message.
const (
	minuteLayout = "[2006-01-02 15:04] "
	// DayLayout also has the weekday, against which models resolve relative dates.
	DayLayout = "[2006-01-02 Mon 15:04] "
)

// rendered returns messages as a model sees them, with role, name and time. Secrets are removed.
func rendered(messages []transcript.Message, chars int) []prompt.Message {
	return Rendered(messages, chars, minuteLayout)
}

// Rendered returns messages as a model sees them, with role, name and time in a layout. Secrets are removed.
// Tool results have up to chars characters.
func Rendered(messages []transcript.Message, chars int, layout string) []prompt.Message {
	messages, _ = guard.NewRedactor(guard.Options{}).Messages(messages)
	at := map[int]time.Time{}
	for _, m := range messages {
		at[m.Seq] = m.Time
	}
	shown := transcript.Material(messages, chars)
	for i := range shown {
		shown[i].Content = memory.WithoutData(shown[i].Content)
		if when := at[shown[i].Index]; !when.IsZero() {
			shown[i].Content = when.UTC().Format(layout) + shown[i].Content
		}
	}
	return shown
}

func newest(shown []prompt.Message, tokens int) (out []prompt.Message) {
	for _, m := range slices.Backward(shown) {
		if tokens -= llm.EstimateTokens(m.Content); tokens < 0 && len(out) > 0 {
			break
		}
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}
