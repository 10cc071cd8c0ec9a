package discordtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// answerTime is how long a pressed button can be answered.
const answerTime = 3 * time.Second

// press is a pressed button.
type press struct {
	token    string
	at       time.Time
	answered bool
}

// press sends the event of a pressed button to all sessions.
func (s *Server) press(who string, m *message, data string) {
	id := s.newID()
	p := &press{token: "aW50ZXJhY3Rpb24" + id, at: time.Now()}
	s.presses[id] = p
	out := map[string]any{"id": id, "application_id": BotID, "type": 3, "token": p.token, "version": 1,
		"channel_id": m.room.id, "channel": s.roomPayload(m.room), "message": s.messagePayload(m), "locale": "en-US",
		"data":            map[string]any{"component_type": 2, "custom_id": data, "id": 2},
		"app_permissions": "2251804225", "entitlements": []any{}, "context": 1, "attachment_size_limit": 10485760,
		"authorizing_integration_owners": map[string]any{"0": serverID}}
	if m.room.kind == typeDM {
		out["user"] = s.userPayload(who)
	} else {
		member := s.memberPayload(who)
		member["user"], member["permissions"] = s.userPayload(who), "2251804225"
		out["member"], out["guild_id"], out["guild_locale"], out["context"] = member, serverID, "en-US", 0
		out["guild"] = map[string]any{"id": serverID, "locale": "en-US", "features": []string{}}
	}
	s.latest = func() {
		for _, n := range s.sessions {
			s.emit(n, "INTERACTION_CREATE", out)
		}
	}
	s.latest()
}

// answerPress accepts the answer to a pressed button. The token in the path authorizes it.
func (s *Server) answerPress(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Type int `json:"type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil || b.Type < 4 || b.Type > 7 {
		refuseField(w, "type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7}.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	p := s.presses[id]
	switch {
	case p == nil || p.token != r.PathValue("token") || time.Since(p.at) > answerTime:
		refuse(w, http.StatusNotFound, 10062, "Unknown interaction")
	case p.answered:
		refuse(w, http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	default:
		p.answered = true
		if with := r.FormValue("with_response"); with != "1" && with != "true" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply(w, map[string]any{"interaction": map[string]any{"id": id, "type": 3, "channel_id": "0"},
			"resource": map[string]any{"type": b.Type}})
	}
}
