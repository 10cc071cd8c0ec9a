package agentrun

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Compactor shortens conversations that do not fit the context window of their model.
type Compactor interface {
	// Begin starts a compaction. It returns nil if the compaction is complete.
	Begin(ctx context.Context, o Overflow) (*contract.OffloadToStart, error)
}

// Overflow describes a conversation that is too long.
type Overflow struct {
	Workspace    int64
	Conversation int64
	After, Upto  int                        // last turn that a record covers already, and last turn to compact
	Said         []conversation.TurnMessage // messages to compact
	Tokens       int                        // estimated size of Said
	Lang         string
	Flush        *Spec // review before the compaction
	AtOnce       bool  // the time limit leaves no room for a model call
}

// Tokens that a request needs in addition to the history: instructions, tools, this turn and the
// reply; and the margin for errors of the token estimate.
const (
	reserveTokens = 20_000
	marginTokens  = 4_000
)

// history returns the token limit for messages before this turn.
func (l Limits) history() int {
	if l.Window == 0 { // pinned before windows were recorded
		return l.HistoryTokens
	}
	room := l.Room()
	if l.HistoryTokens > 0 {
		room = min(room, l.HistoryTokens)
	}
	return room
}

// Room returns the tokens of the model's window that remain for the history, 0 if the window is unknown.
func (l Limits) Room() int {
	return l.Window - min(reserveTokens, l.Window/2) - min(marginTokens, l.Window/8)
}

// recentShare is the part of the history that stays verbatim after a compaction.
const recentShare = 0.5

// urgent is the time limit of a turn up to which a compaction may not call a model.
const urgent = 15 * time.Second

// overflow checks, before the first model call of a turn, whether the earlier messages fit the
// model. If they do not, it starts a compaction; it never truncates them.
func (s *Service) overflow(ctx context.Context, st *runState, step agent.Step,
	base contract.ConversationBase) (*contract.OffloadToStart, error) {
	if st.hasSession { // checked when the session was stored
		return nil, nil
	}
	return s.shorten(ctx, st, step, base, st.spec.Limits.history())
}

// shorten starts a compaction if the history has more than room tokens. It applies only to a turn
// before its first model call.
func (s *Service) shorten(ctx context.Context, st *runState, step agent.Step, base contract.ConversationBase,
	room int) (*contract.OffloadToStart, error) {
	if st.run.Kind != run.Turn || s.Compactor == nil || !base.Compacts || step.N != 1 || len(st.steps) > 0 ||
		st.spec.Limits.Window == 0 {
		return nil, nil
	}
	upto, tokens := st.overflowing(room)
	if upto == 0 {
		return nil, nil
	}
	o := Overflow{Workspace: st.run.Workspace, Conversation: st.run.Conversation, After: st.turn.Record.Upto,
		Upto: upto, Tokens: tokens, Lang: st.spec.Lang,
		AtOnce: st.spec.Budget.Wall > 0 && st.spec.Budget.Wall <= urgent}
	for _, m := range st.earlier {
		if m.Turn <= upto {
			o.Said = append(o.Said, m)
		}
	}
	if !o.AtOnce {
		flush, err := s.pinFlush(ctx, st, o)
		if err != nil {
			return nil, err
		}
		o.Flush = &flush
	}
	out, err := s.Compactor.Begin(ctx, o)
	if err != nil || out != nil {
		return out, err
	}
	again, err := s.loadRun(ctx, st.run.Ref)
	if err == nil {
		*st = *again
	}
	return nil, err
}

// overflowing returns the last turn to compact so that the history has at most room tokens, and the
// number of tokens to compact. It returns 0 if the history fits.
func (st *runState) overflowing(room int) (upto, tokens int) {
	total := llm.EstimateTokens(st.turn.Record.Content)
	sizes, images := map[int]int{}, st.images(false)
	var turns []int
	for i := 0; i < len(st.earlier); {
		to := i + 1
		for to < len(st.earlier) && st.earlier[to].Turn == st.earlier[i].Turn {
			to++
		}
		if turn := st.earlier[i].Turn; turn != st.turn.Number {
			_, sizes[turn] = st.thread(st.earlier[i:to], images)
			total += sizes[turn]
			turns = append(turns, turn)
		}
		i = to
	}
	if total <= room {
		return 0, 0
	}
	left := int(float64(room) * recentShare)
	for len(turns) > 0 && sizes[turns[len(turns)-1]] <= left {
		left -= sizes[turns[len(turns)-1]]
		turns = turns[:len(turns)-1]
	}
	for _, t := range turns {
		upto, tokens = t, tokens+sizes[t]
	}
	return upto, tokens
}

// pinFlush renders the prompt of the review before a compaction: the messages to compact and the
// stored memories. That review only adds to the notes of the day.
func (s *Service) pinFlush(ctx context.Context, st *runState, o Overflow) (spec Spec, err error) {
	zone := time.UTC
	err = s.Store.InWorkspaceByKeys(ctx, o.Workspace, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err == nil {
			zone, err = time.LoadLocation(chosen.TimeZone)
		}
		return err
	})
	if err != nil {
		return spec, fmt.Errorf("read the workspace's time zone: %w", err)
	}
	known, err := s.Memory.Remembered(ctx, o.Workspace)
	if err != nil {
		return spec, fmt.Errorf("read what is remembered: %w", err)
	}
	spec = s.FlushSpec()
	spec.Origin, spec.Budget, spec.Channel, spec.Lang, spec.Turn = agent.OriginNudge, agent.ForFlush(), st.spec.Channel,
		o.Lang, o.Upto
	var messages []transcript.Message
	for _, m := range o.Said {
		if m.Role == transcript.Tool && attacks(m.Content) {
			spec.Tainted = true
		}
		messages = append(messages, m.Message)
	}
	spec.FromSeq, spec.ToSeq = messages[0].Seq, messages[len(messages)-1].Seq
	messages, _ = guard.NewRedactor(guard.Options{}).Messages(messages)
	material := prompt.Material{Messages: transcript.Material(messages, spec.Limits.ResultChars),
		Memories: known.Entries(), Language: spec.Lang}
	if spec.Material, err = prompt.User(Fitted(material, spec.Limits.InputTokens/(spec.Budget.Max+2))); err != nil {
		return spec, err
	}
	spec.Date = st.turn.AcceptedAt.In(zone).Format(time.DateOnly)
	spec.System, err = prompt.Flush(spec.Lang, spec.Budget.Max)
	return spec, err
}

// Flush is the review before a compaction. Its request is pinned as a whole, and it writes notes
// under its date.
type Flush struct{ Notes Tools }

var _ Agent = Flush{}

// Tools returns the tools that write notes.
func (f Flush) Tools(RunView) (Tools, error) { return f.Notes, nil }

// Subject returns the notes of the review's date.
func (f Flush) Subject(_ context.Context, w RunView, _ int64) (agent.MemoryScope, error) {
	return agent.MemoryScope{Type: string(memory.Note), Target: w.Spec.Date}, nil
}

// Brief returns the pinned request.
func (f Flush) Brief(_ context.Context, w RunView, _ bool) (PromptInput, error) {
	return PromptInput{System: w.Spec.System, Messages: llm.User(w.Spec.Material)}, nil
}

// Finish does nothing.
func (f Flush) Finish(context.Context, RunView, run.Result) (json.RawMessage, error) {
	return json.RawMessage("null"), nil
}

// Result reports the notes that were written.
func (f Flush) Result(w RunView, _ json.RawMessage, e *run.Result) (run.Outcome, error) {
	e.Writes = (&runState{steps: w.Steps}).writes()
	e.Status, e.Number = reviewStatus(e.Reason, len(e.Writes)), w.Spec.Turn
	return OutcomeOf(e.Reason), nil
}
