package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Times and the size of messages.
const (
	dialTime  = 20 * time.Second
	writeTime = 10 * time.Second
	maxSize   = 4 << 20
)

// Socket is a connection. One goroutine reads; any number writes.
type Socket struct {
	ws   *websocket.Conn
	mu   sync.Mutex // of writes
	idle atomic.Int64
	stop func() bool
}

// DialSocket connects to a URL. The connection closes when ctx ends, and breaks if nothing arrives for the time idle.
// The
// response is that of a server that refuses. Errors do not show the URL, which may hold a ticket.
func DialSocket(ctx context.Context, url string, idle time.Duration) (*Socket, *http.Response, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialTime}
	ws, res, err := dialer.DialContext(ctx, url, nil)
	var invalid *neturl.Error
	if errors.As(err, &invalid) {
		err = invalid.Err
	}
	if err != nil {
		return nil, res, fmt.Errorf("open the WebSocket: %w", err)
	}
	ws.SetReadLimit(maxSize)
	c := &Socket{ws: ws, stop: context.AfterFunc(ctx, func() { _ = ws.Close() })}
	c.SetIdle(idle)
	ws.SetPongHandler(func(string) error { return c.extend() })
	return c, res, nil
}

// SetIdle changes how long the connection may be silent. It applies from the next message on.
func (c *Socket) SetIdle(idle time.Duration) { c.idle.Store(int64(idle)) }

func (c *Socket) extend() error {
	return c.ws.SetReadDeadline(time.Now().Add(time.Duration(c.idle.Load())))
}

// Read returns the next message.
func (c *Socket) Read() ([]byte, error) {
	if err := c.extend(); err != nil {
		return nil, err
	}
	_, data, err := c.ws.ReadMessage()
	return data, err
}

// Binary writes a binary message.
func (c *Socket) Binary(data []byte) error { return c.write(websocket.BinaryMessage, data) }

// Text writes a text message.
func (c *Socket) Text(data []byte) error { return c.write(websocket.TextMessage, data) }

func (c *Socket) write(kind int, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	return c.ws.WriteMessage(kind, data)
}

// Ping asks the other side for a sign of life.
func (c *Socket) Ping() error {
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime))
}

// Close closes the connection.
func (c *Socket) Close() error {
	c.stop()
	return c.ws.Close()
}
