package app

import (
	"context"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
)

// lookAnyway is how often whoever waits for a run looks at it, told or not.
const lookAnyway = time.Second

// Await returns when look says that a run has ended, fails with its error, or with
// ctx's. It looks when the database tells of the run's end, when told is closed,
// if anything else may tell of it, and from time to time, should their words be
// lost.
func (h *Host) Await(ctx context.Context, id int64, told <-chan struct{}, look func() (run.Status, error)) error {
	ended, stop := h.Store.Ended(id)
	defer stop()
	again := time.NewTicker(lookAnyway)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
			told = nil
		case <-ended:
		case <-again.C:
		}
		if status, err := look(); err != nil || status == run.Ended {
			return err
		}
	}
}

// Say makes a message durable, brings it to its conversation and waits for the
// answer until ctx ends. A message that is stored and not answered yet is no
// error: its status tells, and it will be.
func (h *Host) Say(ctx context.Context, r conversation.Request) (out conversation.Answered, err error) {
	accepted, err := h.Converse.Accept(ctx, r)
	if err != nil {
		return out, err
	}
	if !accepted.Turn.Ended && h.Temporal != nil {
		return h.Answer(ctx, r, accepted.Run)
	}
	return h.answerOf(ctx, r)
}

// Answer brings an accepted message to its conversation and returns its answer as
// soon as that is stored, which is before its turn's workflow has ended. It
// returns the message without one when ctx ends before, or when Temporal cannot be
// asked: then the relay brings it.
func (h *Host) Answer(ctx context.Context, r conversation.Request, turn run.Run) (out conversation.Answered, err error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		if _, err := h.Driver.Answer(waiting, r.WorkspaceKey, turn); err != nil && waiting.Err() == nil {
			h.Log.Warn("a turn is stored and not answered yet; the relay will bring it to its conversation", "run", turn.Ref.Run, "error", err)
			cancel()
		}
	}()
	_ = h.Await(waiting, turn.Ref.Run, told, func() (run.Status, error) {
		out, err = h.answerOf(ctx, r)
		return run.Status(out.Status), nil // of a database that is away the next look may be better
	})
	if err == nil && out.Status == conversation.StatusEnded {
		return out, nil
	}
	return h.answerOf(ctx, r)
}

// answerOf reads what became of a message, also for a caller whose time is over.
func (h *Host) answerOf(ctx context.Context, r conversation.Request) (conversation.Answered, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.Config.DatabaseStep)
	defer cancel()
	return h.Converse.Answer(ctx, r.Workspace, r.Conversation, r.MessageID)
}
