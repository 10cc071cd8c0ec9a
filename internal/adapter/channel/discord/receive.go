package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
	"github.com/gorilla/websocket"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// intents are the events that Discord sends.
const intents = gateway.IntentGuildMessages | gateway.IntentDirectMessages | gateway.IntentMessageContent

// reservedStarts are the sessions of a day that Receive does not begin. Discord resets the token of a bot that
// begins too many.
const reservedStarts = 50

// receiver receives the events of an account.
type receiver struct {
	*Adapter
	state
	accept  service.Accept
	bot     snowflake.ID // the account itself
	stored  string       // cursor that was stored last
	handled atomic.Int64 // sequence for heartbeats
	ready   bool         // the connection has a session
}

// errReconnect means that the connection ended, and that the session may continue on another one.
var errReconnect = errors.New("the connection to the gateway ended")

// Receive reads events from the gateway. The cursor has the session and the last message of each known channel.
func (a *Adapter) Receive(ctx context.Context, cursor string, accept service.Accept) error {
	me, err := a.self(ctx)
	if err != nil {
		return a.explain(err)
	}
	r := &receiver{Adapter: a, state: decodeState(cursor), accept: accept, bot: me, stored: cursor}
	for {
		err := r.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errReconnect) {
			return err
		}
		// Discord asks for a random wait, so that bots do not return all at once.
		if err := sleep(ctx, a.Pause/5+rand.N(a.Pause)*4/5); err != nil {
			return err
		}
	}
}

// connect makes a connection and reads from it until it ends.
func (r *receiver) connect(ctx context.Context) error {
	r.ready = false
	r.handled.Store(int64(r.Seq))
	c, err := r.open(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	defer c.close()
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	beating.Go(func() { c.beat(ctx, r.sequence) })
	if err := r.login(ctx, c); err != nil {
		return err
	}
	for {
		f, err := c.read()
		if err != nil {
			return r.lost(err)
		}
		if err := r.handle(ctx, c, f); err != nil {
			return err
		}
	}
}

// open connects to the address of the session, or to the general one.
func (r *receiver) open(ctx context.Context) (*connection, error) {
	if r.URL != "" {
		if c, err := dial(ctx, r.URL); err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	var general disgo.GatewayBot
	if err := r.read(ctx, rest.GetGatewayBot.Compile(nil), &general); err != nil {
		return nil, r.explain(err)
	}
	if limit := general.SessionStartLimit; r.Session == "" && limit.Remaining < reservedStarts {
		return nil, fault.New(fault.Unavailable, "too many sessions of account "+r.Account+" today",
			fmt.Sprintf("wait %s", time.Duration(limit.ResetAfter)*time.Millisecond))
	}
	return dial(ctx, general.URL)
}

// login resumes the session, or begins one.
func (r *receiver) login(ctx context.Context, c *connection) error {
	if r.Session != "" {
		return c.write(gateway.OpcodeResume,
			gateway.MessageDataResume{Token: r.Token, SessionID: r.Session, Seq: r.Seq})
	}
	if err := r.checkIntent(ctx); err != nil { // Discord would close the connection, and count the session
		return err
	}
	return c.write(gateway.OpcodeIdentify, gateway.MessageDataIdentify{Token: r.Token, Intents: intents,
		Properties: gateway.IdentifyCommandDataProperties{OS: runtime.GOOS, Browser: "cairn", Device: "cairn"}})
}

// sequence is the sequence of the last event that is stored or left out.
func (r *receiver) sequence() any {
	if seq := r.handled.Load(); seq > 0 {
		return seq
	}
	return nil
}

// lost converts an error of reading. The session continues if there was one on this connection.
func (r *receiver) lost(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		switch closed.Code {
		case gateway.CloseEventCodeAuthenticationFailed.Code:
			return r.denied(err)
		case gateway.CloseEventCodeDisallowedIntent.Code:
			return r.missingIntent(err)
		case gateway.CloseEventCodeShardingRequired.Code:
			return fault.Wrap(err, fault.Misconfigured, "the bot of account "+r.Account+" is in too many servers",
				"remove it from some: Cairn uses one connection, which Discord limits to 2,500 servers")
		case gateway.CloseEventCodeInvalidSeq.Code, gateway.CloseEventCodeSessionTimed.Code:
			r.forget()
			return errReconnect
		}
	}
	if r.ready {
		return errReconnect
	}
	return err
}

// handle handles a frame.
func (r *receiver) handle(ctx context.Context, c *connection, f frame) error {
	switch f.Op {
	case gateway.OpcodeDispatch:
		return r.dispatch(ctx, f)
	case gateway.OpcodeHeartbeat:
		if err := c.write(gateway.OpcodeHeartbeat, r.sequence()); err != nil {
			return r.lost(err)
		}
	case gateway.OpcodeHeartbeatACK: // a good time to store the sequence of events that are left out
		return r.store(ctx, nil)
	case gateway.OpcodeReconnect:
		return errReconnect
	case gateway.OpcodeInvalidSession:
		return r.refused(string(f.Data) == "true")
	}
	return nil
}

// refused handles the refusal of a session.
func (r *receiver) refused(resumable bool) error {
	if r.Session == "" {
		return errors.New("the gateway did not begin a session")
	}
	if !resumable {
		r.forget()
	}
	return errReconnect
}

// dispatch handles an event of the session.
func (r *receiver) dispatch(ctx context.Context, f frame) error {
	switch f.Type {
	case gateway.EventTypeReady:
		return r.begin(ctx, f)
	case gateway.EventTypeResumed:
		r.ready = true
	}
	events, err := r.eventsOf(ctx, f)
	if err != nil {
		return err
	}
	r.Seq = f.Seq
	if len(events) > 0 {
		if err := r.store(ctx, events); err != nil {
			return err
		}
		r.answer(ctx, f)
	}
	r.handled.Store(int64(f.Seq))
	return nil
}

// begin begins a session. The messages that no session has are read first: until they are stored, the cursor has no
// session, so that a crash repeats the reading.
func (r *receiver) begin(ctx context.Context, f frame) error {
	var ready struct {
		Session string `json:"session_id"`
		URL     string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(f.Data, &ready); err != nil || ready.Session == "" {
		return errors.New("the gateway began a session without ID")
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.Session, r.URL, r.Seq = ready.Session, ready.URL, f.Seq
	r.ready = true
	r.handled.Store(int64(f.Seq))
	return r.store(ctx, nil)
}

// store stores events with the cursor after them. Without events, it does nothing if the cursor is stored.
func (r *receiver) store(ctx context.Context, events []channel.Event) error {
	cursor := r.encode()
	if len(events) == 0 && cursor == r.stored {
		return nil
	}
	if err := r.accept(ctx, events, cursor); err != nil {
		return fmt.Errorf("store events of Discord: %w", err)
	}
	r.stored = cursor
	return nil
}
