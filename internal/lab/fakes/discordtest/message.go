package discordtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	disgo "github.com/disgoorg/disgo/discord"

	"cairn/internal/domain/channel"
)

// Limits of messages.
const (
	maxUnits = 2000
	maxNonce = 25
	maxPage  = 100
)

// body is a new message, or the change of one.
type body struct {
	Content    *string         `json:"content"`
	Nonce      json.RawMessage `json:"nonce"` // a text or a number
	Enforce    bool            `json:"enforce_nonce"`
	Components json.RawMessage `json:"components"`
	Embeds     []any           `json:"embeds"`

	Flags   disgo.MessageFlags `json:"flags"` // those of a message that is changed stay
	Allowed *struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
}

// row is a row of buttons.
type row struct {
	Type       int `json:"type"`
	Components []struct {
		Type  int    `json:"type"`
		Style int    `json:"style"`
		Label string `json:"label"`
		Data  string `json:"custom_id"`
	} `json:"components"`
}

// nonce returns the nonce, empty without one.
func (b body) nonce() string {
	text := strings.Trim(string(bytes.TrimSpace(b.Nonce)), `"`)
	if text == "null" {
		return ""
	}
	return text
}

// buttons checks the rows and returns their buttons.
func (b body) buttons() (all []channel.Choice, ok bool) {
	if len(b.Components) == 0 {
		return nil, true
	}
	var rows []row
	if err := json.Unmarshal(b.Components, &rows); err != nil || len(rows) > 5 {
		return nil, false
	}
	for _, r := range rows {
		if r.Type != 1 || len(r.Components) == 0 || len(r.Components) > 5 {
			return nil, false
		}
		for _, c := range r.Components {
			n := utf8.RuneCountInString(c.Data)
			if c.Type != 2 || c.Style < 1 || c.Style > 4 || n == 0 || n > 100 || utf8.RuneCountInString(c.Label) > 80 ||
				slices.ContainsFunc(all, func(other channel.Choice) bool { return other.Data == c.Data }) {
				return nil, false
			}
			all = append(all, channel.Choice{Label: c.Label, Data: c.Data})
		}
	}
	return all, true
}

// check answers a body that breaks a limit, and reports whether it does.
func (b body) check(w http.ResponseWriter) (buttons []channel.Choice, broken bool) {
	if b.Content != nil && units(*b.Content) > maxUnits {
		refuseField(w, "content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
		return nil, true
	}
	if len(b.nonce()) > maxNonce {
		refuseField(w, "nonce", "NONCE_TYPE_TOO_LONG", "Nonce can be at most 25 characters.")
		return nil, true
	}
	buttons, ok := b.buttons()
	if !ok {
		refuseField(w, "components", "BASE_TYPE_CHOICES", "Invalid components.")
	}
	return buttons, !ok
}

func (s *Server) createMessage(w http.ResponseWriter, r *http.Request, c *room) {
	answered, lost := s.fault(w)
	if answered {
		return
	}
	var b body
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		refuse(w, http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		return
	}
	buttons, broken := b.check(w)
	if broken {
		return
	}
	m := &message{id: s.newID(), room: c, author: BotID, at: time.Now(), nonce: b.nonce(), components: b.Components,
		buttons: buttons, flags: b.Flags}
	if b.Content != nil {
		m.content = strings.TrimSpace(*b.Content)
	}
	if m.content == "" && len(b.Embeds) == 0 {
		refuse(w, http.StatusBadRequest, 50006, "Cannot send an empty message")
		return
	}
	limitHeaders(w.Header(), 4, time.Second)
	if known := s.nonces[m.nonce]; known != nil && b.Enforce && m.nonce != "" {
		s.replyKnown(w, known)
		return
	}
	s.ping(m, b)
	s.nonces[m.nonce] = m
	s.sent = append(s.sent, m)
	c.messages = append(c.messages, m)
	s.publishMessage("MESSAGE_CREATE", m)
	if lost {
		panic(http.ErrAbortHandler)
	}
	out := s.messagePayload(m)
	if m.nonce != "" {
		out["nonce"] = b.Nonce
	}
	reply(w, out)
}

// ping notifies all members if a message mentions them and may do so.
func (s *Server) ping(m *message, b body) {
	allowed := b.Allowed == nil || slices.Contains(b.Allowed.Parse, "everyone")
	if m.everyone = allowed && strings.Contains(m.content, "@everyone"); m.everyone {
		s.pings++
	}
}

// replyKnown answers a request with a nonce that the server knows.
func (s *Server) replyKnown(w http.ResponseWriter, m *message) {
	if m.room.message(m.id) == nil {
		refuse(w, http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	reply(w, s.messagePayload(m))
}

// getMessages returns messages, the latest first. The nonces are not shown.
func (s *Server) getMessages(w http.ResponseWriter, r *http.Request, c *room) {
	query := r.URL.Query()
	most := 50
	if text := query.Get("limit"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > maxPage {
			refuseField(w, "limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
			return
		}
	}
	page := slices.Clone(c.messages)
	switch after, before := query.Get("after"), query.Get("before"); {
	case after != "":
		page = slices.DeleteFunc(page, func(m *message) bool { return !isLater(m.id, after) })
		page = page[:min(len(page), most)]
	case before != "":
		page = slices.DeleteFunc(page, func(m *message) bool { return !isLater(before, m.id) })
	}
	page = page[max(0, len(page)-most):]
	out := []any{}
	for _, m := range slices.Backward(page) {
		out = append(out, s.messagePayload(m))
	}
	reply(w, out)
}

// isLater compares IDs.
func isLater(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func (s *Server) getMessage(w http.ResponseWriter, r *http.Request, c *room) {
	m := c.message(r.PathValue("message"))
	if m == nil {
		refuse(w, http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	reply(w, s.messagePayload(m))
}

func (s *Server) editMessage(w http.ResponseWriter, r *http.Request, c *room) {
	m := c.message(r.PathValue("message"))
	if m == nil {
		refuse(w, http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	if m.author != BotID {
		refuse(w, http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
		return
	}
	var b body
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		refuse(w, http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		return
	}
	buttons, broken := b.check(w)
	if broken {
		return
	}
	answered, lost := s.fault(w)
	if answered {
		return
	}
	now := time.Now()
	m.edited = &now
	if b.Content != nil {
		m.content = strings.TrimSpace(*b.Content)
	}
	if b.Components != nil {
		m.components, m.buttons = b.Components, buttons
	}
	s.publishMessage("MESSAGE_UPDATE", m)
	if lost {
		panic(http.ErrAbortHandler)
	}
	reply(w, s.messagePayload(m))
}

func (s *Server) deleteMessage(w http.ResponseWriter, r *http.Request, c *room) {
	id := r.PathValue("message")
	if !s.remove(c, id) {
		refuse(w, http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	s.sent = slices.DeleteFunc(s.sent, func(m *message) bool { return m.id == id })
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) getFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, edition := s.files[r.PathValue("file")], strconv.Itoa(s.edition)
	s.mu.Unlock()
	if f == nil || r.FormValue("hm") != edition {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.contentType)
	_, _ = w.Write(f.data) // a write error: the client has left
}
