package conversation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// workflows answer turns as a test says.
type workflows struct {
	answer func(ctx context.Context, turn run.Run) error
	asked  atomic.Int64
}

func (w *workflows) Answer(ctx context.Context, _ string, turn run.Run) (contract.TurnResult, error) {
	w.asked.Add(1)
	return contract.TurnResult{}, w.answer(ctx, turn)
}

// waiter polls once per notification, then gives up.
type waiter struct{ ended chan struct{} }

func (w waiter) Await(ctx context.Context, _ string, told <-chan struct{}, look func() (run.Status, error)) error {
	select {
	case <-w.ended:
	case <-told:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := look()
	return err
}

// sender is a Sender whose turns are answered as a test says, with what it logs.
func (b *bundle) sender(w *workflows) (*conversation.Sender, *bytes.Buffer) {
	var log bytes.Buffer
	s := &conversation.Sender{SenderPorts: conversation.SenderPorts{Service: b.Service, Waiter: waiter{},
		Timeout: time.Minute,
		Log:     slog.New(slog.NewTextHandler(&log, nil))}}
	if w != nil {
		s.Workflows = w
	}
	return s, &log
}

func TestSendMessageReturnsTheAnswerOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := &workflows{answer: func(ctx context.Context, turn run.Run) error { return b.end(ctx, turn.Ref) }}
	s, _ := b.sender(w)
	first, err := s.SendMessage(t.Context(), b.message("c", "m1", "hello"))
	testkit.Must(t, err)
	if first.Status != domainconversation.StatusEnded || first.Reply == "" {
		t.Errorf("answered %+v", first)
	}
	again, err := s.SendMessage(t.Context(), b.message("c", "m1", "hello"))
	if err != nil || again != first || w.asked.Load() != 1 {
		t.Errorf("sent again: %+v, %v after %d workflows", again, err, w.asked.Load())
	}
}

// The reply is available before the workflow of its turn has ended.
func TestSendMessageDoesNotWaitForTheWorkflowOfAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ended := make(chan struct{})
	w := &workflows{answer: func(ctx context.Context, turn run.Run) error {
		if err := b.end(ctx, turn.Ref); err != nil {
			return err
		}
		close(ended)
		<-ctx.Done()
		return ctx.Err()
	}}
	s, _ := b.sender(w)
	s.Waiter = waiter{ended}
	got, err := s.SendMessage(t.Context(), b.message("c", "m1", "hello"))
	if err != nil || got.Status != domainconversation.StatusEnded {
		t.Errorf("answered %+v, %v", got, err)
	}
}

// A stored message without a reply is not an error: the relay starts its turn later.
func TestSendMessageReturnsAStoredMessageWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late, cancel := context.WithCancel(t.Context())
	away := &workflows{answer: func(context.Context, run.Run) error { return errors.New("no connection") }}
	slow := &workflows{answer: func(ctx context.Context, _ run.Run) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}
	for name, c := range map[string]struct {
		ctx       context.Context
		workflows *workflows
		log       string
	}{
		"without Temporal": {ctx: t.Context()},
		"Temporal away":    {t.Context(), away, "no connection"},
		"caller gone":      {late, slow, ""},
	} {
		s, log := b.sender(c.workflows)
		got, err := s.SendMessage(c.ctx, b.message(name, "m1", "hello"))
		if err != nil || got.Status != domainconversation.StatusAccepted || got.Reply != "" || got.ReplySeq != -1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !strings.Contains(log.String(), c.log) || (c.log == "") != (log.Len() == 0) {
			t.Errorf("%s: the log is %q, want %q in it", name, log, c.log)
		}
	}
	if n := b.Number("select count(*) from outbox where kind = 'turn'"); n != 3 {
		t.Errorf("the relay has %d duties, want one for each message", n)
	}
}

func TestSendMessageRefusesABadMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := &workflows{}
	s, _ := b.sender(w)
	for _, n := range []int{-1, 51} {
		r := b.message("c", "m1", "hello")
		r.MaxTurns = n
		_, err := s.SendMessage(t.Context(), r)
		if fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Hint == "" {
			t.Errorf("override %d: %v", n, err)
		}
	}
	if n := b.Number("select count(*) from conversations"); n != 0 || w.asked.Load() != 0 {
		t.Errorf("%d conversations were made, %d workflows asked", n, w.asked.Load())
	}
}
