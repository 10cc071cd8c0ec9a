// Package webhooktest is a program that talks to Cairn over signed webhooks, for tests. It sends an event until it is
// accepted, and recognizes messages that are repeated.
package webhooktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
)

// Secret signs the requests in both directions.
const Secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// Program is a running program.
type Program struct {
	*httptest.Server
	signer *standardwebhooks.Webhook
	client *http.Client
	ctx    context.Context
	stop   func()

	mu      sync.Mutex
	to      string // URL of Cairn
	pending []event
	next    int
	last    event
	sent    []channeltest.Message
	seen    map[string]bool
	faults  []channeltest.Fault
	running sync.WaitGroup
}

// event is an event with its ID.
type event struct {
	id   string
	body map[string]any
}

var (
	_ channeltest.Platform = (*Program)(nil)
	_ channeltest.Mounter  = (*Program)(nil)
)

// Start starts a program on loopback.
func Start() *Program {
	signer, err := standardwebhooks.NewWebhook(Secret)
	if err != nil {
		panic(err) // the secret is a constant
	}
	p := &Program{signer: signer, seen: map[string]bool{}, client: &http.Client{Timeout: 10 * time.Second}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.Server = httptest.NewServer(http.HandlerFunc(p.receive))
	p.running.Go(p.deliver)
	return p
}

// Close stops the program.
func (p *Program) Close() {
	p.stop()
	p.running.Wait()
	p.Server.Close()
}

// Mount sets the URL that gets the events.
func (p *Program) Mount(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = url
}

// Private returns the conversation of a user, and Group that of a group.
func (p *Program) Private(user string) string { return "private-" + user }

// Group returns the conversation of a group.
func (p *Program) Group(number int) string { return fmt.Sprintf("group-%d", number) }

// Say makes a user write.
func (p *Program) Say(m channeltest.UserMessage) string {
	chat := m.Chat
	if chat == "" {
		chat = p.Private(m.User)
	}
	return p.add(map[string]any{"conversation": chat, "thread": m.Thread, "text": m.Text,
		"group": chat != p.Private(m.User), "mentioned": m.Mention,
		"sender": map[string]any{"id": m.User, "name": m.Name, "bot": m.Bot}})
}

// Press makes a user press a button.
func (p *Program) Press(user, chat, data string) {
	p.add(map[string]any{"type": "button", "conversation": chat, "text": data, "group": chat != p.Private(user),
		"sender": map[string]any{"id": user, "name": "Ada"}})
}

// Edit makes a user change a message.
func (p *Program) Edit(chat, messageID, text string) bool {
	p.add(map[string]any{"type": "edited", "conversation": chat, "message_id": messageID, "text": text,
		"sender": map[string]any{"id": userOf(chat), "name": "Ada"}})
	return true
}

// Delete makes a user delete a message.
func (p *Program) Delete(chat, messageID string) bool {
	p.add(map[string]any{"type": "deleted", "conversation": chat, "message_id": messageID,
		"sender": map[string]any{"id": userOf(chat), "name": "Ada"}})
	return true
}

// userOf returns the user of a private conversation.
func userOf(chat string) string { return chat[len("private-"):] }

// add stores an event for delivery and returns its ID.
func (p *Program) add(body map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	p.last = event{fmt.Sprintf("event-%d", p.next), body}
	p.pending = append(p.pending, p.last)
	return p.last.id
}

// Repeat delivers the latest event once more.
func (p *Program) Repeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, p.last)
}

// Drop breaks all connections.
func (p *Program) Drop() { p.client.CloseIdleConnections() }

// Fail makes the next requests fail.
func (p *Program) Fail(faults ...channeltest.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, faults...)
}

// Sent returns the messages of Cairn.
func (p *Program) Sent() []channeltest.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// deliver sends the events in their order, each until it is accepted.
func (p *Program) deliver() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
		p.mu.Lock()
		var e event
		to := p.to
		if len(p.pending) > 0 {
			e = p.pending[0]
		}
		p.mu.Unlock()
		if e.id == "" || to == "" || p.post(to, e) != nil {
			continue
		}
		p.mu.Lock()
		p.pending = p.pending[1:]
		p.mu.Unlock()
	}
}

var errRefused = errors.New("the event was not accepted")

func (p *Program) post(to string, e event) error {
	body, err := json.Marshal(e.body)
	if err != nil {
		return err
	}
	now := time.Now()
	signature, err := p.signer.Sign(e.id, now, body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set(standardwebhooks.HeaderWebhookID, e.id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	res, err := p.client.Do(r)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return errRefused
	}
	return nil
}

// maxUnits is the limit of a message in runes.
const maxUnits = 4000

// receive gets a message of Cairn. One that is repeated has the same ID, and counts once.
func (p *Program) receive(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || p.signer.Verify(raw, r.Header) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct {
		Conversation, Thread, Text string
		Buttons                    []channel.Choice
	}
	if json.Unmarshal(raw, &m) != nil || m.Text == "" || len([]rune(m.Text)) > maxUnits {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var f channeltest.Fault
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	switch f.Kind {
	case channeltest.Busy:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case channeltest.Broken:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case channeltest.Gone:
		w.WriteHeader(http.StatusGone)
		return
	}
	id := r.Header.Get(standardwebhooks.HeaderWebhookID)
	if !p.seen[id] {
		p.seen[id] = true
		p.sent = append(p.sent, channeltest.Message{ID: id, Chat: m.Conversation, Thread: m.Thread, Text: m.Text,
			Buttons: m.Buttons, At: time.Now()})
	}
	if f.Kind == channeltest.Unknown {
		panic(http.ErrAbortHandler) // the connection breaks
	}
}
