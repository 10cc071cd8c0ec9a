package discordtest

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/disgoorg/disgo/gateway"
	"github.com/gorilla/websocket"
)

// opReconnect asks a client to connect again.
const opReconnect = int(gateway.OpcodeReconnect)

// session is a session of a bot. It outlives its connections.
type session struct {
	id      string
	intents gateway.Intents
	events  []any // frames, by sequence from 1
	socket  *socket
}

// socket is a connection. Writes happen under the lock of the server.
type socket struct {
	conn    *websocket.Conn
	session *session
	packer  *zlib.Writer // nil without compression; one stream for all frames
	packed  bytes.Buffer
}

// write sends a frame. An error means that the client has left; its session keeps the frame.
func (k *socket) write(frame any) {
	raw, err := json.Marshal(frame)
	if err != nil {
		panic(fmt.Sprintf("encode a frame: %v", err))
	}
	_ = k.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if k.packer == nil {
		_ = k.conn.WriteMessage(websocket.TextMessage, raw)
		return
	}
	k.packed.Reset()
	_, _ = k.packer.Write(raw) // a buffer accepts everything
	_ = k.packer.Flush()
	_ = k.conn.WriteMessage(websocket.BinaryMessage, k.packed.Bytes())
}

// serveGateway serves a connection.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer conn.Close()
	k := &socket{conn: conn}
	query := r.URL.Query()
	if query.Get("compress") == "zlib-stream" {
		k.packer = zlib.NewWriter(&k.packed)
	}
	if query.Get("v") != "10" || query.Get("encoding") != "json" {
		s.hangUp(k, gateway.CloseEventCodeInvalidAPIVersion.Code)
		return
	}
	s.set(func() {
		s.sockets[k] = true
		k.write(map[string]any{"op": gateway.OpcodeHello, "s": nil, "t": nil,
			"d": map[string]any{"heartbeat_interval": s.interval.Milliseconds(), "_trace": []string{}}})
	})
	defer s.set(func() {
		delete(s.sockets, k)
		if k.session != nil && k.session.socket == k {
			k.session.socket = nil
		}
	})
	for {
		_ = conn.SetReadDeadline(time.Now().Add(2 * s.interval))
		_, raw, err := conn.ReadMessage()
		var late net.Error
		if errors.As(err, &late) && late.Timeout() { // no heartbeat; the session stays
			s.hangUp(k, gateway.CloseEventCodeUnknownError.Code)
		}
		if err != nil {
			s.ended(k, err)
			return
		}
		if code := s.command(k, raw); code != 0 {
			s.hangUp(k, code)
			return
		}
	}
}

// ended ends the session of a client that says goodbye with code 1000 or 1001.
func (s *Server) ended(k *socket, err error) {
	if k.session != nil && websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
		s.set(func() { delete(s.sessions, k.session.id) })
	}
}

func (s *Server) hangUp(k *socket, code int) {
	s.set(func() {
		bye := websocket.FormatCloseMessage(code, "")
		_ = k.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	})
}

// command runs a command of a client. It returns a code to close the connection, or 0.
func (s *Server) command(k *socket, raw []byte) int {
	var c struct {
		Op   *gateway.Opcode `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if err := json.Unmarshal(raw, &c); err != nil || c.Op == nil {
		return gateway.CloseEventCodeDecodeError.Code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch *c.Op {
	case gateway.OpcodeHeartbeat:
		var seq int
		if err := json.Unmarshal(c.Data, &seq); err != nil {
			return gateway.CloseEventCodeDecodeError.Code
		}
		s.beats = append(s.beats, seq)
		k.write(map[string]any{"op": gateway.OpcodeHeartbeatACK, "s": nil, "t": nil, "d": nil})
	case gateway.OpcodeIdentify:
		return s.identify(k, c.Data)
	case gateway.OpcodeResume:
		return s.resume(k, c.Data)
	case gateway.OpcodePresenceUpdate, gateway.OpcodeVoiceStateUpdate, gateway.OpcodeRequestGuildMembers:
		if k.session == nil {
			return gateway.CloseEventCodeNotAuthenticated.Code
		}
	default:
		return gateway.CloseEventCodeUnknownOpcode.Code
	}
	return 0
}

func (s *Server) identify(k *socket, raw json.RawMessage) int {
	var d gateway.MessageDataIdentify
	switch err := json.Unmarshal(raw, &d); {
	case err != nil || d.Properties.OS == "":
		return gateway.CloseEventCodeDecodeError.Code
	case k.session != nil:
		return gateway.CloseEventCodeAlreadyAuthenticated.Code
	case d.Token != Token:
		return gateway.CloseEventCodeAuthenticationFailed.Code
	case s.denied && d.Intents.Has(gateway.IntentMessageContent):
		return gateway.CloseEventCodeDisallowedIntent.Code
	}
	s.started++
	s.starts--
	n := &session{id: "session-" + s.newID(), intents: d.Intents, socket: k}
	k.session = n
	s.sessions[n.id] = n
	s.emit(n, "READY", map[string]any{"v": 10, "user": s.mePayload(), "session_id": n.id,
		"resume_gateway_url": s.Gateway(), "shard": []int{0, 1}, "private_channels": []any{},
		"guilds":      []any{map[string]any{"id": serverID, "unavailable": true}},
		"application": map[string]any{"id": BotID, "flags": s.applicationFlags()}})
	if n.intents.Has(gateway.IntentGuilds) {
		s.emit(n, "GUILD_CREATE", s.serverPayload())
	}
	if s.started == 1 {
		close(s.begun)
	}
	return 0
}

// resume continues a session: it sends the events after a sequence. A session that is not known is refused.
func (s *Server) resume(k *socket, raw json.RawMessage) int {
	var d gateway.MessageDataResume
	if err := json.Unmarshal(raw, &d); err != nil {
		return gateway.CloseEventCodeDecodeError.Code
	}
	if d.Token != Token {
		return gateway.CloseEventCodeAuthenticationFailed.Code
	}
	n := s.sessions[d.SessionID]
	if n == nil {
		k.write(map[string]any{"op": gateway.OpcodeInvalidSession, "s": nil, "t": nil, "d": false})
		return 0
	}
	if d.Seq > len(n.events) || d.Seq < 0 {
		return gateway.CloseEventCodeInvalidSeq.Code
	}
	if n.socket != nil {
		_ = n.socket.conn.NetConn().Close()
	}
	s.resumed++
	n.socket, k.session = k, n
	for _, e := range n.events[d.Seq:] {
		k.write(e)
	}
	s.emit(n, "RESUMED", map[string]any{"_trace": []string{}})
	return 0
}

// emit sends an event to a session. Without a connection, the session keeps it.
func (s *Server) emit(n *session, event string, data any) {
	frame := map[string]any{"op": gateway.OpcodeDispatch, "s": len(n.events) + 1, "t": event, "d": data}
	n.events = append(n.events, frame)
	if n.socket != nil {
		n.socket.write(frame)
	}
}

// publish sends an event of a channel to the sessions with the intent for it. Payload returns its data with or
// without the content of messages.
func (s *Server) publish(event string, r *room, payload func(content bool) map[string]any) {
	need := gateway.IntentGuildMessages
	if r.kind == typeDM {
		need = gateway.IntentDirectMessages
	}
	full := payload(true)
	bare := payload(false)
	s.latest = func() {
		for _, n := range s.sessions {
			switch {
			case !n.intents.Has(need):
			case n.intents.Has(gateway.IntentMessageContent):
				s.emit(n, event, full)
			default:
				s.emit(n, event, bare)
			}
		}
	}
	s.latest()
}

// publishMessage sends an event with a message. Without the intent, the bot reads the content of private messages,
// of its own and of those that mention it.
func (s *Server) publishMessage(event string, m *message) {
	s.publish(event, m.room, func(content bool) map[string]any {
		out := s.messagePayload(m)
		if m.room.kind != typeDM {
			out["guild_id"], out["member"] = serverID, s.memberPayload(m.author)
		}
		if m.nonce != "" {
			out["nonce"] = m.nonce
		}
		maps.Copy(out, m.extra)
		if !content && m.room.kind != typeDM && m.author != BotID && !slices.Contains(m.mentions, BotID) {
			out["content"] = ""
		}
		return out
	})
}

// drop breaks all connections.
func (s *Server) drop() {
	for k := range s.sockets {
		if k.session != nil {
			k.session.socket = nil
		}
		_ = k.conn.NetConn().Close()
	}
}
