package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// Times of a connection.
const (
	pingTime = 2 * time.Minute  // between two pings, unless the server states it
	pongTime = 30 * time.Second // that the server has for an answer
	partTime = time.Minute      // that the frames of a message are kept
	maxParts = 1000             // frames of a message
)

// Receive reads events until ctx is done. Feishu keeps no cursor: it delivers what is not acknowledged again.
func (a *Adapter) Receive(ctx context.Context, _ string, accept service.Accept) error {
	bot, err := a.me(ctx)
	if err != nil {
		return err
	}
	return apiclient.KeepSocket(ctx, func(ctx context.Context) error { return a.session(ctx, bot, accept) })
}

// line is an open connection.
type line struct {
	*apiclient.Socket
	service int32
	every   chan time.Duration // changes of the time between two pings
	parts   map[string]*parts
}

// parts are the frames of a message that has not arrived completely.
type parts struct {
	payloads [][]byte
	missing  int
	since    time.Time
}

// session reads the events of one connection.
func (a *Adapter) session(ctx context.Context, bot string, accept service.Accept) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, every, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	go l.pings(ctx, every)
	for {
		raw, err := l.Read()
		if err != nil {
			return fmt.Errorf("%w: %w", apiclient.ErrSocketBroken, err)
		}
		var f Frame
		if err := f.Unmarshal(raw); err != nil {
			return err
		}
		switch {
		case f.Method == Control && f.Get(HeaderType) == "pong":
			l.configure(f.Payload)
		case f.Method == Data && f.Get(HeaderType) == "event":
			if err := a.handle(ctx, l, &f, bot, accept); err != nil {
				return err
			}
		}
	}
}

// handle accepts the event of a frame, and then acknowledges it.
func (a *Adapter) handle(ctx context.Context, l *line, f *Frame, bot string, accept service.Accept) error {
	payload := l.join(f)
	if payload == nil {
		return nil
	}
	e, ok := a.eventOf(ctx, payload, bot)
	if ok {
		if err := accept(ctx, []channel.Event{e}, ""); err != nil {
			_ = l.answer(f, http.StatusInternalServerError) // without an answer Feishu repeats it, too
			return err
		}
	}
	if err := l.answer(f, http.StatusOK); err != nil {
		return fmt.Errorf("%w: acknowledge an event: %w", apiclient.ErrSocketBroken, err)
	}
	return nil
}

// answer states how a message was handled. The frame is its last one.
func (l *line) answer(f *Frame, status int) error {
	out := *f
	out.Payload = fmt.Appendf(nil, `{"code":%d,"headers":null,"data":null}`, status)
	return l.Binary(out.Marshal())
}

// join returns the payload of a message, or nil if frames of it are missing.
func (l *line) join(f *Frame) []byte {
	sum, seq, id := f.Int(HeaderSum), f.Int(HeaderSeq), f.Get(HeaderMessage)
	switch {
	case sum <= 1:
		return f.Payload
	case sum > maxParts:
		return nil
	}
	for id, p := range l.parts {
		if time.Since(p.since) > partTime {
			delete(l.parts, id)
		}
	}
	p := l.parts[id]
	if p == nil {
		p = &parts{make([][]byte, sum), sum, time.Now()}
		l.parts[id] = p
	}
	if seq < 0 || seq >= len(p.payloads) {
		return nil
	}
	if p.payloads[seq] == nil {
		p.missing--
	}
	p.payloads[seq] = f.Payload
	if p.missing > 0 {
		return nil
	}
	delete(l.parts, id)
	var whole []byte
	for _, piece := range p.payloads {
		whole = append(whole, piece...)
	}
	return whole
}

// clientConfig is what the server asks of clients.
type clientConfig struct {
	PingInterval int `json:"PingInterval"` // seconds
}

func (c *clientConfig) ping() time.Duration {
	if c == nil || c.PingInterval <= 0 {
		return pingTime
	}
	return time.Duration(c.PingInterval) * time.Second
}

// configure applies the payload of a pong.
func (l *line) configure(payload []byte) {
	var c clientConfig
	if json.Unmarshal(payload, &c) != nil || c.PingInterval <= 0 {
		return
	}
	l.SetIdle(c.ping() + pongTime)
	select {
	case l.every <- c.ping():
	default: // the earlier change is not applied yet
	}
}

// pings sends a ping at once and after each interval. The connection breaks if the server does not answer.
func (l *line) pings(ctx context.Context, every time.Duration) {
	ping := Frame{Service: l.service, Method: Control, Headers: []Header{{HeaderType, "ping"}}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := l.Binary(ping.Marshal()); err != nil {
			_ = l.Close() // the reader reports it
			return
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case changed := <-l.every:
				tick.Reset(changed)
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// endpoint is where a connection is opened. Its URL contains a ticket.
type endpoint struct {
	URL          string        `json:"URL"`
	ClientConfig *clientConfig `json:"ClientConfig"`
}

// endpoint asks for a place to connect to.
func (a *Adapter) endpoint(ctx context.Context) (*endpoint, error) {
	res, err := larkcore.Request(ctx, &larkcore.ApiReq{
		HttpMethod: http.MethodPost,
		ApiPath:    "/callback/ws/endpoint",
		Body:       map[string]string{"AppID": a.AppID, "AppSecret": a.AppSecret},
	}, a.config)
	if err != nil {
		return nil, a.redact(err)
	}
	var body struct {
		Data endpoint `json:"data"`
	}
	if err := decode(res.StatusCode, res.Header, res.RawBody, &body); err != nil {
		return nil, a.redact(err)
	}
	if body.Data.URL == "" {
		return nil, errors.New("the server states no URL of the long connection")
	}
	return &body.Data, nil
}

// dial opens a connection, and returns the time between two pings.
func (a *Adapter) dial(ctx context.Context) (*line, time.Duration, error) {
	at, err := a.endpoint(ctx)
	if err != nil {
		return nil, 0, err
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, 0, errors.New("the server states an invalid URL of the long connection")
	}
	number, _ := strconv.ParseInt(u.Query().Get("service_id"), 10, 32)
	every := at.ClientConfig.ping()
	conn, res, err := apiclient.DialSocket(ctx, at.URL, every+pongTime) //nolint:bodyclose // the socket owns it
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%w: %s %s", err, res.Header.Get("Handshake-Status"), res.Header.Get("Handshake-Msg"))
		}
		return nil, 0, err
	}
	l := &line{Socket: conn, service: int32(number), every: make(chan time.Duration, 1), parts: map[string]*parts{}}
	return l, every, nil
}
