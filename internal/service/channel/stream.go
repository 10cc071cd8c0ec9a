package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/service/replystream"
)

// Partial replies are best effort: their errors reach neither the turn nor the delivery. But a partial message must
// not remain, and must not overwrite the whole reply. So a message is stored before it is sent, and each change has a
// lease: the delivery of the reply waits for its end.

// Times of partial replies.
const (
	streamAfter = time.Second            // after the first text, which is shown then; a quick reply is sent at once
	streamSoon  = 300 * time.Millisecond // instead of streamAfter, if there are streamRunes characters
	streamRunes = 40
	streamMost  = 20 * time.Minute // of a turn
	streamLook  = 5 * time.Second  // after which a silent run may have ended
	streamSend  = 6 * time.Second  // of a change
	streamLease = 8 * time.Second  // of a change: the platform has it, or never gets it
	streamStore = 5 * time.Second
)

// streamBurst is the number of changes of an account that may follow each other at once.
const streamBurst = 5

// streamed is a turn whose reply is shown while a model writes it.
type streamed struct {
	ref   run.Ref
	route int64
	place channel.Place
}

// streams starts to show replies, by account.
type streams struct {
	mu    sync.Mutex
	begin map[string]func(streamed)
}

// openStreams shows the replies of an account until ctx is done. Call stop to wait for the end of the last changes.
func (s *Service) openStreams(ctx context.Context, a Account) (stop func()) {
	adapter, ok := a.Adapter.(Streamer)
	if !ok || !a.Profile.Partial || s.Replies == nil {
		return func() {}
	}
	limits := a.Adapter.Limits()
	limit := rate.NewLimiter(rate.Inf, streamBurst)
	if limits.Changes > 0 {
		limit.SetLimit(rate.Every(time.Minute / time.Duration(limits.Changes)))
	}
	var running sync.WaitGroup
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if s.streams.begin == nil {
		s.streams.begin = map[string]func(streamed){}
	}
	s.streams.begin[a.Name] = func(r streamed) {
		running.Go(func() {
			st := &stream{Service: s, streamed: r, account: a, adapter: adapter, limits: limits, limit: limit,
				pace: adapter.Pace(r.place)}
			if err := st.show(ctx); err != nil && ctx.Err() == nil {
				s.Log.Info("partial reply ended early", "account", a.Name, "run", r.ref.Run, "error", err)
			}
		})
	}
	return func() {
		s.streams.mu.Lock()
		delete(s.streams.begin, a.Name)
		s.streams.mu.Unlock()
		running.Wait()
	}
}

// stream shows the reply of a turn while a model writes it, if this process serves its account.
func (s *Service) stream(r streamed) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if begin := s.streams.begin[r.place.Account]; begin != nil {
		begin(r)
	}
}

// stream shows one reply.
type stream struct {
	*Service
	streamed
	account Account
	adapter Streamer
	limits  channel.Limits
	limit   *rate.Limiter
	pace    channel.Pace

	news, ended <-chan struct{}
	follower    *replystream.Follower
	step        int
	text        string // of the step
	shown       string
	at          time.Time // of shown
}

// show shows text until the run ends.
func (st *stream) show(ctx context.Context) error {
	if st.pace.Every == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, streamMost)
	defer cancel()
	st.follower = st.Replies.Follow(st.ref, conversation.ReplyPosition{})
	var stop func()
	st.news, st.ended, stop = st.Replies.News(st.ref)
	defer stop()
	for held := false; ; {
		if open, err := st.wait(ctx, st.news, streamLook); err != nil || !open {
			return err
		}
		if err := st.read(ctx); err != nil {
			return err
		}
		if !held && st.text != "" {
			held = true
			if open, err := st.hold(ctx); err != nil || !open {
				return err
			}
		}
		if err := st.refresh(ctx); err != nil {
			return err
		}
		if open, err := st.wait(ctx, nil, st.pace.Every); err != nil || !open {
			return err
		}
	}
}

// wait waits for a signal, at most for a time. Open is false if the run has ended, or ctx.
func (st *stream) wait(ctx context.Context, signal <-chan struct{}, most time.Duration) (open bool, err error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-signal:
			return true, nil
		case <-timer.C:
			return st.Store.PartialOpen(ctx, st.ref)
		case <-st.ended:
			if open, err := st.Store.PartialOpen(ctx, st.ref); err != nil || !open {
				return false, err
			}
		}
	}
}

// hold waits before the first text is shown, so that a quick reply is one message without changes.
func (st *stream) hold(ctx context.Context) (open bool, err error) {
	open, err = st.wait(ctx, nil, streamSoon)
	if err == nil && open {
		err = st.read(ctx)
	}
	if err != nil || !open || utf8.RuneCountInString(st.text) >= streamRunes {
		return open, err
	}
	open, err = st.wait(ctx, nil, streamAfter-streamSoon)
	if err == nil && open {
		err = st.read(ctx)
	}
	return open, err
}

// read reads new text. Each step of the turn begins another one, of which the last is the reply.
func (st *stream) read(ctx context.Context) error {
	deltas, err := st.follower.Next(ctx)
	for _, d := range deltas {
		if d.Reset || d.Step != st.step {
			st.text = ""
		}
		st.step = d.Step
		st.text += d.Text
	}
	return err
}

// refresh shows the text that there is, unless it is shown. What does not fit into one message follows with the whole
// reply.
func (st *stream) refresh(ctx context.Context) error {
	parts := channel.Split(strings.TrimSpace(st.text), st.limits.Units)
	if len(parts) == 0 {
		return nil
	}
	stale := st.pace.Preview > 0 && time.Since(st.at) > st.pace.Preview/2 // it is about to disappear
	if parts[0] == st.shown && !stale || !st.limit.Allow() {
		return nil
	}
	return st.change(ctx, parts[0])
}

// change shows a text within a lease. A change of which it is not known whether the platform has it, or will have it,
// keeps its lease until the end. The end of the process does not interrupt a change.
func (st *stream) change(ctx context.Context, text string) error {
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamSend) // begins before the lease
	defer cancel()
	p, ok, err := st.Store.BeginPartial(sending, st.ref, st.route, st.pace.Preview == 0, streamLease)
	if err != nil || !ok {
		return err
	}
	id, err := st.send(sending, p, text)
	var refused *SendError
	if err != nil && !errors.As(err, &refused) && !errors.Is(err, errElsewhere) {
		return err
	}
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamStore)
	defer cancel()
	st.shown, st.at = text, time.Now()
	return errors.Join(err, st.Store.EndPartial(storing, st.ref, id))
}

// errElsewhere means that another process has begun to show a reply, and its message is not known.
var errElsewhere = errors.New("another process has begun to show the reply")

// send sends a text, or replaces the one that is shown. It returns the ID of the message, nil without one.
func (st *stream) send(ctx context.Context, p channel.Partial, text string) (id *string, err error) {
	switch {
	case st.pace.Preview > 0:
		previewer, ok := st.adapter.(Previewer)
		if !ok {
			return nil, fmt.Errorf("the adapter of %s has no previews", st.account.Name)
		}
		return nil, previewer.Preview(ctx, st.place, partialKey(st.ref), text)
	case p.First:
		sent, err := st.account.Adapter.Send(ctx, st.place, channel.Part{Key: partialKey(st.ref), Text: text})
		if err != nil {
			return nil, err
		}
		return &sent, nil
	case p.ID == nil || *p.ID == "":
		return p.ID, errElsewhere
	}
	return p.ID, st.adapter.Edit(ctx, st.place, *p.ID, text)
}

// partialKey is the key of the message with a partial reply.
func partialKey(ref run.Ref) string { return fmt.Sprintf("p%d-%s", ref.Workspace, ref.Run) }

// quiesce waits until no process changes the partial reply of a delivery any more. None begins to.
func (s *Service) quiesce(ctx context.Context, ws int64, d channel.Delivery) (channel.Delivery, error) {
	const look = 100 * time.Millisecond
	for d.Busy > 0 {
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-time.After(min(look, d.Busy)):
		}
		var err error
		if d, err = s.Store.Delivery(ctx, ws, d.ID); err != nil {
			return d, err
		}
	}
	return d, nil
}

// replace makes the message with the partial reply of a delivery the first message of the reply. Done is false if there
// is no such message, so that the reply is sent.
func (s *Service) replace(ctx context.Context, a Account, ws int64, d channel.Delivery, text string) (id string,
	done bool,
	err error) {
	adapter, ok := a.Adapter.(Streamer)
	if !ok || d.Partial == nil {
		return "", false, nil
	}
	ref := run.Ref{Workspace: ws, Run: d.Run}
	if id, err = s.findPartial(ctx, a, d, ref, text); err != nil {
		return "", false, err
	}
	var refused *SendError
	if id != "" {
		err = adapter.Edit(ctx, d.Place, id, text)
		if err == nil || !errors.As(err, &refused) || !refused.Permanent {
			return id, err == nil, err
		}
		s.Log.Info("partial reply sent again", "account", a.Name, "delivery", d.ID, "error", err)
		_ = adapter.Delete(ctx, d.Place, id) // the message or the chat may be gone
	}
	return "", false, s.Store.EndPartial(ctx, ref, nil)
}

// findPartial returns the ID of the message with a partial reply, empty if it cannot be found. If a process ended while
// it sent the message, a platform that recognizes keys finds it, or shows the text.
func (s *Service) findPartial(ctx context.Context, a Account, d channel.Delivery, ref run.Ref, text string) (string,
	error) {
	if *d.Partial != "" {
		return *d.Partial, nil
	}
	if !a.Adapter.Limits().Decides {
		s.ambiguous(a, d.ID, 1)
		return "", nil
	}
	id, err := a.Adapter.Send(ctx, d.Place, channel.Part{Key: partialKey(ref), Text: text, Repeated: true})
	if err != nil || id == "" {
		return "", err
	}
	return id, s.Store.EndPartial(ctx, ref, &id)
}

// withdraw deletes the message with the partial reply of a turn that ended without one.
func (s *Service) withdraw(ctx context.Context, a Account, ws int64, d channel.Delivery) error {
	adapter, ok := a.Adapter.(Streamer)
	if !ok || d.Partial == nil {
		return nil
	}
	const note = "…"
	ref := run.Ref{Workspace: ws, Run: d.Run}
	id, err := s.findPartial(ctx, a, d, ref, note)
	if err != nil || id == "" {
		return err
	}
	err = adapter.Delete(ctx, d.Place, id)
	var refused *SendError
	if errors.As(err, &refused) && refused.Permanent {
		err = adapter.Edit(ctx, d.Place, id, note)
	}
	if errors.As(err, &refused) && refused.Permanent { // the chat is gone
		s.Log.Info("partial reply left", "account", a.Name, "delivery", d.ID, "error", err)
		return nil
	}
	return err
}
