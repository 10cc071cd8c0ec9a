package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
	slackapi "github.com/slack-go/slack"

	service "cairn/internal/service/channel"
)

// Errors that end a connection.
var (
	errRenew   = errors.New("another connection is asked for")
	errRefused = errors.New("the events were not accepted")
)

const (
	maxFrame     = 4 << 20                // bytes of an envelope
	writeTime    = 10 * time.Second       // of an acknowledgement
	drainTime    = 500 * time.Millisecond // that the connection before is still read
	shortLife    = time.Minute            // a connection that ends before it is followed by a pause
	longestPause = 30 * time.Second
)

// envelope is a frame of Slack.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"` // hello, disconnect, events_api, interactive
	Payload json.RawMessage `json:"payload"`
}

// handler stores the events of an envelope.
type handler func(ctx context.Context, e envelope) error

// receiveSocket reads envelopes and connects again until ctx is done, Slack refuses a connection, or events are not
// accepted. Slack repeats what was not acknowledged.
func (a *Adapter) receiveSocket(ctx context.Context, accept service.Accept) error {
	me, err := a.whoami(ctx)
	if err != nil {
		return err
	}
	store := func(ctx context.Context, e envelope) error {
		events := a.eventsOf(ctx, me, e.Type, e.Payload)
		if len(events) == 0 {
			return nil
		}
		if err := accept(ctx, events, ""); err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		return nil
	}
	c, err := a.dial(ctx)
	for pause := time.Duration(0); err == nil; {
		began := time.Now()
		end := c.serve(ctx, store)
		if ctx.Err() != nil || errors.Is(end, errRefused) {
			_ = c.Close() // it is given up
			return end
		}
		pause = a.pause(pause, time.Since(began))
		c, err = a.replace(ctx, c, end, pause, store)
	}
	return err
}

// pause returns how long to wait after a connection, given the pause before it.
func (a *Adapter) pause(before, lived time.Duration) time.Duration {
	if lived >= shortLife {
		return 0
	}
	return min(max(a.Redial, 2*before), longestPause)
}

// replace opens another connection. If Slack asked for it, the one before brings events until it is closed.
func (a *Adapter) replace(ctx context.Context, old *connection, end error, pause time.Duration,
	store handler) (*connection, error) {
	defer old.Close()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(pause):
	}
	c, err := a.dial(ctx)
	if err != nil || !errors.Is(end, errRenew) {
		return c, err
	}
	old.until = time.Now().Add(drainTime)
	if err := old.serve(ctx, store); errors.Is(err, errRefused) {
		_ = c.Close() // it is given up
		return nil, err
	}
	return c, nil
}

// dial opens a connection.
func (a *Adapter) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	_, address, err := a.client.StartSocketModeContext(ctx)
	var busy *slackapi.RateLimitedError
	if errors.As(err, &busy) {
		select {
		case <-ctx.Done():
		case <-time.After(busy.RetryAfter):
		}
	}
	if err != nil {
		return nil, a.redact(fmt.Errorf("ask Slack for a connection: %w", err))
	}
	conn, _, err := a.dialer.DialContext(ctx, address, nil) //nolint:bodyclose // the response has no body to close
	if err != nil {
		return nil, a.redact(fmt.Errorf("connect to Slack: %w", err), address)
	}
	c := &connection{Conn: conn, silence: a.Silence}
	conn.SetReadLimit(maxFrame)
	conn.SetPingHandler(func(data string) error {
		if err := c.extend(); err != nil {
			return err
		}
		// An error of a pong is also one of the next read.
		_ = conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTime))
		return nil
	})
	return c, nil
}

// connection is a WebSocket of Slack.
type connection struct {
	*websocket.Conn
	silence time.Duration
	until   time.Time // when reading ends in any case; zero means never
}

// extend states that the connection was alive just now.
func (c *connection) extend() error {
	deadline := time.Now().Add(c.silence)
	if !c.until.IsZero() && c.until.Before(deadline) {
		deadline = c.until
	}
	return c.SetReadDeadline(deadline)
}

// serve handles envelopes until the connection ends. It returns the reason.
func (c *connection) serve(ctx context.Context, store handler) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the read
	defer stop()
	for {
		if err := c.extend(); err != nil {
			return fmt.Errorf("read from Slack: %w", err)
		}
		_, frame, err := c.ReadMessage()
		if err != nil {
			return fmt.Errorf("read from Slack: %w", err)
		}
		var e envelope
		_ = json.Unmarshal(frame, &e) // a frame of another form has no ID to acknowledge
		switch {
		case e.Type == "disconnect":
			return errRenew
		case e.ID == "":
			continue
		}
		if err := store(ctx, e); err != nil {
			return err
		}
		if err := c.acknowledge(e.ID); err != nil {
			return err
		}
	}
}

func (c *connection) acknowledge(id string) error {
	err := c.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		err = c.WriteJSON(map[string]string{"envelope_id": id})
	}
	if err != nil {
		return fmt.Errorf("acknowledge an event of Slack: %w", err)
	}
	return nil
}
