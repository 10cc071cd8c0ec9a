package feishutest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
)

// Limits of requests, in bytes.
const (
	maxCard = 30 << 10
	maxText = 150 << 10
	maxUUID = 50 // characters
)

// post is the body of a request to send.
type post struct {
	ReceiveID     string `json:"receive_id"`
	MsgType       string `json:"msg_type"`
	Content       string `json:"content"`
	UUID          string `json:"uuid"`
	ReplyInThread bool   `json:"reply_in_thread"`
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	p, ok := readPost(w, r)
	if !ok {
		return
	}
	known := strings.HasPrefix(p.ReceiveID, privatePrefix) || strings.HasPrefix(p.ReceiveID, groupPrefix)
	if r.URL.Query().Get("receive_id_type") != "chat_id" || !known {
		refuse(w, http.StatusBadRequest, 230034, "The receive_id is invalid")
		return
	}
	s.send(w, r, p, channeltest.Message{Chat: p.ReceiveID})
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request) {
	p, ok := readPost(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	root := s.messages[r.PathValue("id")]
	thread := s.threads[r.PathValue("id")]
	s.mu.Unlock()
	if root == nil {
		refuse(w, http.StatusBadRequest, 230011, "The message was withdrawn")
		return
	}
	m := channeltest.Message{Chat: root.Chat}
	if p.ReplyInThread {
		m.Thread = thread
	}
	s.send(w, r, p, m)
}

func readPost(w http.ResponseWriter, r *http.Request) (p post, ok bool) {
	raw, err := io.ReadAll(r.Body)
	limit := maxText
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if p.MsgType == "interactive" {
		limit = maxCard
	}
	switch {
	case err != nil, p.MsgType == "", len(p.UUID) > maxUUID:
		refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter")
	case len(raw) > limit:
		refuse(w, http.StatusBadRequest, 230025, "The length of the message content reaches its limit")
	default:
		return p, true
	}
	return p, false
}

// send stores a message, unless a fault is due.
func (s *Server) send(w http.ResponseWriter, r *http.Request, p post, m channeltest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered, lost := s.fault(w)
	if answered {
		return
	}
	done := s.uuids[p.UUID]
	if p.UUID == "" || done == nil {
		var err error
		if done, err = s.store(p, m); err != nil {
			refuse(w, http.StatusBadRequest, 230099, "Failed to create card content, "+err.Error())
			return
		}
	}
	if lost {
		cut(w)
		return
	}
	succeed(w, object{"message_id": done.ID, "msg_type": p.MsgType, "chat_id": done.Chat,
		"create_time": milliseconds(done.At), "body": object{"content": p.Content},
		"sender": object{"id": AppID, "id_type": "app_id", "sender_type": "app"}})
}

// fault takes the fault of a request, and answers it. Lost reports that the request has its effect, and that the
// connection must break after it. The lock is held.
func (s *Server) fault(w http.ResponseWriter) (answered, lost bool) {
	if len(s.faults) == 0 {
		return false, false
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	switch f.Kind {
	case channeltest.Busy:
		w.Header().Set("x-ogw-ratelimit-limit", "5")
		w.Header().Set("x-ogw-ratelimit-reset", strconv.Itoa(int(f.RetryAfter.Seconds())))
		refuse(w, http.StatusTooManyRequests, 99991400, "request trigger frequency limit")
	case channeltest.Broken:
		refuse(w, http.StatusInternalServerError, 1663, "internal error")
	case channeltest.Gone:
		refuse(w, http.StatusBadRequest, 230002, "Bot/User can NOT be out of the chat.")
	case channeltest.Refused:
		refuse(w, http.StatusBadRequest, 230028, "The messages do NOT pass the audit")
	case channeltest.Unknown:
		return false, true
	}
	return true, false
}

// cut breaks the connection of a request.
func cut(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

// store adds a message of the bot.
func (s *Server) store(p post, m channeltest.Message) (*message, error) {
	out := &message{Message: m, sender: AppID, card: p.MsgType == "interactive"}
	if err := out.read(p.Content); err != nil {
		return nil, err
	}
	out.ID, out.At = s.id("om_"), time.Now()
	s.sent = append(s.sent, out)
	s.messages[out.ID] = out
	s.threads[out.ID] = out.ID
	if p.UUID != "" {
		s.uuids[p.UUID] = out
	}
	return out, nil
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.messages[r.PathValue("id")]
	var p post
	if s.recalled[r.PathValue("id")] != nil {
		refuse(w, http.StatusBadRequest, 230011, "The message is recalled.")
		return
	}
	if json.NewDecoder(r.Body).Decode(&p) != nil || m == nil || m.sender != AppID || !m.card {
		refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter")
		return
	}
	answered, lost := s.fault(w)
	if answered {
		return
	}
	if err := m.read(p.Content); err != nil {
		refuse(w, http.StatusBadRequest, 230099, "Failed to create card content, "+err.Error())
		return
	}
	if lost {
		cut(w)
		return
	}
	succeed(w, object{})
}

// recall deletes a message of the bot.
func (s *Server) recall(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	m := s.messages[id]
	switch {
	case s.recalled[id] != nil:
		refuse(w, http.StatusBadRequest, 230011, "The message is recalled.")
	case m == nil:
		refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter")
	case m.sender != AppID:
		refuse(w, http.StatusBadRequest, 230026, "No permission to recall this message.")
	default:
		s.recalled[id] = m
		delete(s.messages, id)
		s.sent = slices.DeleteFunc(s.sent, func(o *message) bool { return o == m })
		succeed(w, object{})
	}
}

// card is a card of schema 2.0, with the elements that Cairn uses.
type card struct {
	Schema string `json:"schema"`
	Config struct {
		UpdateMulti bool `json:"update_multi"`
	} `json:"config"`
	Body struct {
		Elements []element `json:"elements"`
	} `json:"body"`
}

type element struct {
	Tag     string `json:"tag"`
	Content string `json:"content"`
	Text    struct {
		Tag     string `json:"tag"`
		Content string `json:"content"`
	} `json:"text"`
	Behaviors []struct {
		Type  string         `json:"type"`
		Value map[string]any `json:"value"`
	} `json:"behaviors"`
}

// strangeImage is an image that is not named by a key of Feishu.
var strangeImage = regexp.MustCompile(`!\[[^\]]*\]\(https?:`)

// read sets the text and the buttons from the content of a message.
func (m *message) read(content string) error {
	if !m.card {
		var c struct {
			Text string `json:"text"`
		}
		err := json.Unmarshal([]byte(content), &c)
		m.Text = c.Text
		return err
	}
	var c card
	d := json.NewDecoder(bytes.NewReader([]byte(content)))
	d.DisallowUnknownFields() // as schema 2.0 does
	if err := d.Decode(&c); err != nil {
		return err
	}
	if c.Schema != "2.0" || !c.Config.UpdateMulti || len(c.Body.Elements) == 0 {
		return errors.New("ErrCode: 200621; unsupported card")
	}
	var text []string
	m.Buttons, m.values = nil, map[string]map[string]any{}
	for _, e := range c.Body.Elements {
		switch {
		case e.Tag == "markdown" && strangeImage.MatchString(e.Content):
			return errors.New("ErrCode: 200570; invalid image keys")
		case e.Tag == "markdown":
			text = append(text, e.Content)
		case e.Tag == "button" && len(e.Behaviors) == 1 && e.Behaviors[0].Type == "callback":
			value := e.Behaviors[0].Value
			data, _ := value["data"].(string)
			m.Buttons = append(m.Buttons, channel.Choice{Label: e.Text.Content, Data: data})
			m.values[data] = value
		default:
			return errors.New("ErrCode: 200861; unsupported element " + e.Tag)
		}
	}
	m.Text = strings.Join(text, "\n")
	return nil
}

// Sent returns the messages of the bot in their order.
func (s *Server) Sent() []channeltest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]channeltest.Message, 0, len(s.sent))
	for _, m := range s.sent {
		out = append(out, m.Message)
	}
	return out
}

// Fail makes the next requests to send or change a message fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}
