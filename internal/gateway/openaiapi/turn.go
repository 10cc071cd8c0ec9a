package openaiapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/completion"
)

// Times of a request.
const (
	replyPatience = 10 * time.Minute // for the reply; clients give up at that time
	comeBack      = 5 * time.Second  // after a disconnection, for the client to send the request again
)

// turn is the turn of a request.
type turn struct {
	*call
	completion.Accepted
	form    form
	model   string // as the request names it
	watcher string // identifies this request among those that wait for the reply
	created time.Time
}

// form is how an API writes replies.
type form interface {
	// whole returns the body of a plain response.
	whole(t *turn, r completion.Reply) any
	sink(t *turn, e *edge.Stream) sink
	background() bool // the turn continues if the client disconnects
	resumes() bool    // the client has the beginning of the stream
}

// serveTurn stores a request, starts its turn and writes the reply.
func (c *call) serveTurn(r completion.Request, model string, streamed bool, f form) error {
	var to *edge.Stream
	if streamed { // before work starts
		var err error
		if to, err = c.open(); err != nil {
			return err
		}
		defer to.Close()
	}
	t, err := c.accept(r, model, f)
	switch {
	case err != nil:
		return err
	case streamed:
		return t.stream(to)
	}
	return t.plain()
}

// accept stores the request and starts its turn.
func (c *call) accept(r completion.Request, model string, f form) (*turn, error) {
	ctx := c.r.Context()
	accepted, err := c.Completions.Accept(ctx, r)
	if err != nil {
		return nil, err
	}
	t := &turn{call: c, Accepted: accepted, form: f, model: model, created: accepted.Turn.AcceptedAt}
	if t.created.IsZero() { // accepted now
		t.created = time.Now()
	}
	h := c.w.Header()
	h.Set("X-Cairn-Run", accepted.Ref().Run)
	if r.Task { // a short one, which ends even if the client disconnects
		return t, c.start(accepted)
	}
	h.Set("X-Cairn-Conversation", accepted.Request.Conversation)
	if accepted.Turn.Ended {
		return t, nil
	}
	if f.background() {
		return t, c.start(accepted)
	}
	if t.watcher, err = c.Completions.Watch(ctx, accepted.Ref()); err != nil {
		return nil, err
	}
	return t, c.start(accepted)
}

// start sends an accepted request to its workflow.
func (c *call) start(a completion.Accepted) error {
	if a.Turn.Ended {
		return nil
	}
	return c.Start(c.r.Context(), a.Request, a.Run)
}

// status returns the status of the turn.
func (t *turn) status() (conversation.TurnStatus, error) {
	return t.Completions.Status(t.r.Context(), t.Accepted)
}

// plain waits for the reply and writes it.
func (t *turn) plain() error {
	var now conversation.TurnStatus
	_, err := t.Await(t.r.Context(), t.Ref(), replyPatience, func() (s run.Status, err error) {
		now, err = t.status()
		return run.Status(now.Status), err
	})
	switch {
	case t.r.Context().Err() != nil:
		t.abandon()
		return t.r.Context().Err()
	case err != nil:
		return err
	case now.Status != conversation.StatusEnded:
		return fault.New(fault.Unavailable, "no reply yet", "send the same request again; it continues to wait")
	}
	reply, err := t.reply(now)
	if err != nil {
		return err
	}
	edge.WriteJSON(t.w, http.StatusOK, t.form.whole(t, reply))
	return nil
}

// reply returns what the client gets of the ended turn. A turn without a reply of a model is an error.
func (t *turn) reply(now conversation.TurnStatus) (completion.Reply, error) {
	out, err := t.Completions.Reply(t.r.Context(), t.Ref(), now.Reply)
	out.Reason = agent.Reason(now.Reason)
	if err == nil {
		err = t.ended(out.Reason, out.Detail)
	}
	return out, err
}

// abandon cancels the turn if the client does not send the request again.
func (t *turn) abandon() {
	if t.watcher == "" {
		return
	}
	ctx := context.WithoutCancel(t.r.Context())
	go func() {
		select {
		case <-t.edge.Closing.Done(): // the client goes to another gateway
			return
		case <-time.After(comeBack):
		}
		chosen, err := t.Workspaces.Settings(ctx, t.from.Workspace.ID)
		if err == nil && chosen.API.CancelOnDisconnect {
			var alone bool
			if alone, err = t.Completions.Watches(ctx, t.Ref(), t.watcher); err == nil && alone {
				_, err = t.Turns.Cancel(
					ctx,
					t.from.Workspace,
					t.Accepted.Request.Conversation,
					t.Accepted.Request.MessageID,
				)
			}
		}
		if err != nil {
			_ = t.failureOf("cancel an abandoned turn", err) // logs it
		}
	}()
}
