package discordtest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"cairn/internal/lab/fakes/channeltest"
)

// routes returns the handler of all requests.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /gateway/bot": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, map[string]any{"url": s.Gateway(), "shards": 1, "session_start_limit": map[string]any{
				"total": 1000, "remaining": s.starts, "reset_after": 60000, "max_concurrency": 1}})
		},
		"GET /users/@me":               func(w http.ResponseWriter, _ *http.Request) { reply(w, s.mePayload()) },
		"GET /applications/@me":        func(w http.ResponseWriter, _ *http.Request) { reply(w, s.application()) },
		"GET /oauth2/applications/@me": func(w http.ResponseWriter, _ *http.Request) { reply(w, s.application()) },
		"GET /users/{user}":            s.getUser,
		"POST /users/@me/channels":     s.openPrivate,

		"GET /channels/{channel}":                       s.inRoom(s.getRoom),
		"GET /channels/{channel}/messages":              s.inRoom(s.getMessages),
		"POST /channels/{channel}/messages":             s.inRoom(s.createMessage),
		"GET /channels/{channel}/messages/{message}":    s.inRoom(s.getMessage),
		"PATCH /channels/{channel}/messages/{message}":  s.inRoom(s.editMessage),
		"DELETE /channels/{channel}/messages/{message}": s.inRoom(s.deleteMessage),
		"POST /channels/{channel}/typing":               s.inRoom(s.startTyping),
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v10"+path, s.authorized(serve))
	}
	mux.HandleFunc("POST /api/v10/interactions/{id}/{token}/callback", s.answerPress)
	mux.HandleFunc("GET /api/v10/gateway", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"url": s.Gateway()})
	})
	mux.HandleFunc("GET /attachments/{channel}/{file}/{name}", s.getFile)
	mux.HandleFunc("GET /{$}", s.serveGateway)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, 0, "404: Not Found")
	})
	return mux
}

// authorized runs a handler under the lock for requests with the token of the bot.
func (s *Server) authorized(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bot "+Token {
			refuse(w, http.StatusUnauthorized, 0, "401: Unauthorized")
			return
		}
		if r.UserAgent() == "" {
			http.Error(w, "error code: 1010", http.StatusForbidden) // as the proxy before the API
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		serve(w, r)
	}
}

// inRoom runs a handler with the channel of a request.
func (s *Server) inRoom(serve func(http.ResponseWriter, *http.Request, *room)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := s.room(r.PathValue("channel"))
		switch {
		case c == nil:
			refuse(w, http.StatusNotFound, 10003, "Unknown Channel")
		case c.hidden && r.Method == http.MethodGet:
			refuse(w, http.StatusForbidden, 50001, "Missing Access")
		default:
			serve(w, r, c)
		}
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Via", "1.1 google")
	_ = json.NewEncoder(w).Encode(body) // a write error: the client has left
}

func refuse(w http.ResponseWriter, status, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Via", "1.1 google")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"message": text, "code": code}) // as in reply
}

// refuseField is the refusal of a member of a body.
func refuseField(w http.ResponseWriter, member, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	problem := map[string]any{"_errors": []any{map[string]any{"code": code, "message": text}}}
	_ = json.NewEncoder(w).Encode(map[string]any{"message": "Invalid Form Body", "code": 50035,
		"errors": map[string]any{member: problem}}) // as in reply
}

// limit answers that there were too many requests.
func limit(w http.ResponseWriter, after time.Duration) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Via", "1.1 google")
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	limitHeaders(h, 0, after)
	h.Set("X-RateLimit-Scope", "user")
	w.WriteHeader(http.StatusTooManyRequests)
	_ = json.NewEncoder(w).Encode(map[string]any{"message": "You are being rate limited.",
		"retry_after": after.Seconds(), "global": false}) // as in reply
}

func limitHeaders(h http.Header, remaining int, reset time.Duration) {
	h.Set("X-RateLimit-Limit", "5")
	h.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(time.Now().Add(reset).UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", reset.Seconds()))
	h.Set("X-RateLimit-Bucket", "80c17d2f203122d936070c88c8d10f33")
}

func (s *Server) mePayload() map[string]any {
	me := s.userPayload(BotID)
	me["verified"], me["mfa_enabled"], me["locale"], me["email"] = true, true, "en-US", nil
	return me
}

// applicationFlags are those of a bot in few servers.
func (s *Server) applicationFlags() int {
	if s.denied {
		return 0
	}
	return 1 << 19 // GATEWAY_MESSAGE_CONTENT_LIMITED
}

func (s *Server) application() map[string]any {
	return map[string]any{"id": BotID, "name": "Cairn", "icon": nil, "description": "", "rpc_origins": []string{},
		"bot_public": true, "bot_require_code_grant": false, "owner": s.userPayload(ownerID), "summary": "",
		"verify_key": "0000000000000000000000000000000000000000000000000000000000000000", "team": nil,
		"flags": s.applicationFlags(), "redirect_uris": []string{}, "interactions_endpoint_url": nil,
		"integration_types_config": map[string]any{}, "approximate_guild_count": 1, "bot": s.userPayload(BotID)}
}

func (s *Server) getUser(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("user")
	if _, known := s.users[id]; !known {
		refuse(w, http.StatusNotFound, 10013, "Unknown User")
		return
	}
	reply(w, s.userPayload(id))
}

func (s *Server) openPrivate(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Recipient json.Number `json:"recipient_id"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	c := s.room(s.Private(body.Recipient.String()))
	if err != nil || c == nil {
		refuse(w, http.StatusBadRequest, 50033, "Invalid Recipient(s)")
		return
	}
	reply(w, s.roomPayload(c))
}

func (s *Server) getRoom(w http.ResponseWriter, _ *http.Request, c *room) { reply(w, s.roomPayload(c)) }

func (s *Server) startTyping(w http.ResponseWriter, _ *http.Request, _ *room) {
	s.typing++
	w.WriteHeader(http.StatusNoContent)
}

// fault takes the next fault of a request to send or change a message, and answers it. Lost reports that the request
// has its effect, and that the connection must break after it.
func (s *Server) fault(w http.ResponseWriter) (answered, lost bool) {
	if len(s.faults) == 0 {
		return false, false
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	switch f.Kind {
	case channeltest.Busy:
		limit(w, f.RetryAfter)
	case channeltest.Broken:
		refuse(w, http.StatusInternalServerError, 0, "500: Internal Server Error")
	case channeltest.Gone:
		refuse(w, http.StatusNotFound, 10003, "Unknown Channel")
	case channeltest.Refused:
		refuse(w, http.StatusBadRequest, 200000, "Message was blocked by automatic moderation")
	case channeltest.Unknown:
		return false, true
	}
	return true, false
}

func units(text string) int { return len(utf16.Encode([]rune(text))) }
