package dingtalk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// pongTime is what the server has for an answer to a ping.
const pongTime = 30 * time.Second

// errMove means that the server asked to connect again. It closes the connection after 10 seconds.
var errMove = fmt.Errorf("%w: the server closes it", apiclient.ErrSocketBroken)

// Receive reads messages until ctx is done. DingTalk keeps no cursor.
func (a *Adapter) Receive(ctx context.Context, _ string, accept service.Accept) error {
	return apiclient.KeepSocket(ctx, func(ctx context.Context) error { return a.session(ctx, accept) })
}

// endpoint asks for a place to connect to, and a ticket.
func (a *Adapter) endpoint(ctx context.Context) (*payload.ConnectionEndpointResponse, error) {
	var body payload.ConnectionEndpointResponse
	err := a.post(ctx, "/v1.0/gateway/connections/open", "", payload.ConnectionEndpointRequest{
		ClientId:      a.ClientID,
		ClientSecret:  a.ClientSecret,
		UserAgent:     "cairn",
		Subscriptions: []*payload.SubscriptionModel{{Type: "CALLBACK", Topic: payload.BotMessageCallbackTopic}},
	}, &body)
	if err != nil {
		return nil, err
	}
	return &body, body.Valid()
}

// session reads the messages of one connection.
func (a *Adapter) session(ctx context.Context, accept service.Accept) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at, err := a.endpoint(ctx)
	if err != nil {
		return err
	}
	address := at.Endpoint + "?ticket=" + url.QueryEscape(at.Ticket)
	conn, _, err := apiclient.DialSocket(ctx, address, a.Ping+pongTime) //nolint:bodyclose // the socket owns it
	if err != nil {
		return err
	}
	defer conn.Close()
	go a.pings(ctx, conn)
	for {
		raw, err := conn.Read()
		if err != nil {
			return fmt.Errorf("%w: %w", apiclient.ErrSocketBroken, err)
		}
		frame, err := payload.DecodeDataFrame(raw)
		if err != nil {
			return fmt.Errorf("decode a frame: %w", err)
		}
		if err := a.handle(ctx, conn, frame, accept); err != nil {
			return err
		}
	}
}

// handle accepts the message of a frame, and then acknowledges it.
func (a *Adapter) handle(
	ctx context.Context,
	conn *apiclient.Socket,
	frame *payload.DataFrame,
	accept service.Accept,
) error {
	answer := payload.NewSuccessDataFrameResponse()
	answer.Message = "OK"
	switch frame.GetTopic() {
	case "disconnect":
		return errMove
	case "ping":
		answer.Data = frame.Data
	case payload.BotMessageCallbackTopic:
		answer.Data = `{"response":null}`
		if e, ok := a.eventOf([]byte(frame.Data)); ok {
			if err := accept(ctx, []channel.Event{e}, ""); err != nil {
				answer.Code, answer.Message = http.StatusInternalServerError, "not stored"
				_ = write(conn, frame, answer) // without an answer DingTalk repeats it, too
				return err
			}
		}
	default:
		if frame.Type == "SYSTEM" {
			return nil
		}
		answer.Code = payload.DataFrameResponseStatusCodeKHandlerNotFound
	}
	if err := write(conn, frame, answer); err != nil {
		return fmt.Errorf("%w: acknowledge a message: %w", apiclient.ErrSocketBroken, err)
	}
	return nil
}

func write(conn *apiclient.Socket, frame *payload.DataFrame, answer *payload.DataFrameResponse) error {
	answer.SetHeader(payload.DataFrameHeaderKMessageId, frame.GetMessageId())
	answer.SetHeader(payload.DataFrameHeaderKContentType, payload.DataFrameContentTypeKJson)
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return conn.Text(raw)
}

// pings keeps a connection open. It breaks if the server does not answer.
func (a *Adapter) pings(ctx context.Context, conn *apiclient.Socket) {
	tick := time.NewTicker(a.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if conn.Ping() != nil {
				_ = conn.Close() // the reader reports it
				return
			}
		}
	}
}
