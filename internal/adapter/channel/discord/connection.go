package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/disgoorg/disgo/gateway"
	"github.com/gorilla/websocket"
)

// frame is a message of the gateway.
type frame struct {
	Op   gateway.Opcode    `json:"op"`
	Seq  int               `json:"s"`
	Type gateway.EventType `json:"t"`
	Data json.RawMessage   `json:"d"`
}

// command is a message to the gateway.
type command struct {
	Op   gateway.Opcode `json:"op"`
	Data any            `json:"d"`
}

// Limits of a connection.
const (
	writeTime    = 10 * time.Second
	longestFrame = 32 << 20
	// closeResumable is a close code that keeps the session. Codes 1000 and 1001 would end it.
	closeResumable = 4000
)

// connection is a WebSocket to the gateway. One goroutine reads.
type connection struct {
	socket   *websocket.Conn
	interval time.Duration // of heartbeats
	mu       sync.Mutex    // of writes
}

// dial connects to a gateway and waits for its first frame.
func dial(ctx context.Context, address string) (*connection, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("invalid address of the gateway")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = url.Values{"v": {strconv.Itoa(gateway.Version)}, "encoding": {"json"}}.Encode()
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: requestTime}
	socket, res, err := dialer.DialContext(ctx, u.String(), http.Header{"User-Agent": {userAgent}})
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	_ = res.Body.Close() // empty after the handshake
	socket.SetReadLimit(longestFrame)
	c := &connection{socket: socket, interval: requestTime}
	stop := context.AfterFunc(ctx, c.close) // ends the read
	defer stop()
	f, err := c.read()
	if err != nil {
		c.close()
		return nil, err
	}
	var hello gateway.MessageDataHello
	err = json.Unmarshal(f.Data, &hello)
	if err != nil || f.Op != gateway.OpcodeHello || hello.HeartbeatInterval <= 0 {
		c.close()
		return nil, errors.New("the gateway did not begin with the interval of heartbeats")
	}
	c.interval = time.Duration(hello.HeartbeatInterval) * time.Millisecond
	return c, nil
}

// read returns the next frame. A gateway that is silent for two heartbeats is lost.
func (c *connection) read() (f frame, err error) {
	if err := c.socket.SetReadDeadline(time.Now().Add(2 * c.interval)); err != nil {
		return f, fmt.Errorf("read from the gateway: %w", err)
	}
	if err := c.socket.ReadJSON(&f); err != nil {
		return f, fmt.Errorf("read from the gateway: %w", err)
	}
	return f, nil
}

// write sends a command. Several goroutines may write.
func (c *connection) write(op gateway.Opcode, data any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.socket.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	if err := c.socket.WriteJSON(command{op, data}); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// beat sends heartbeats until ctx is done. The first one comes after a random part of the interval.
func (c *connection) beat(ctx context.Context, seq func() any) {
	wait := time.Duration(rand.Float64() * float64(c.interval))
	for sleep(ctx, wait) == nil {
		if err := c.write(gateway.OpcodeHeartbeat, seq()); err != nil {
			c.close() // so that the reader fails
			return
		}
		wait = c.interval
	}
}

// close ends the connection and keeps the session, also while another goroutine reads or writes.
func (c *connection) close() {
	bye := websocket.FormatCloseMessage(closeResumable, "")
	_ = c.socket.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // else Discord notices later
	_ = c.socket.Close()
}
