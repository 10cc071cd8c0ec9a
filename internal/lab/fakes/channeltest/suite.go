package channeltest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// Suite is an adapter with its fake.
type Suite struct {
	Start  func() Platform
	Open   func(Platform) (service.Adapter, error) // the account is "ada"
	Wrong  func(Platform) (service.Adapter, error) // credentials of the right form that the platform refuses
	Secret string                                  // a credential that no error may show

	Threads bool // the platform has threads
	Buttons bool // the platform has buttons
	NoGroup bool // the platform does not distinguish groups from private chats

	OnlyMentions bool // a bot gets messages of groups only if they mention it
	Retries      bool // the platform refuses no message permanently
}

// Webhook is an adapter that gets events by HTTP.
type Webhook interface {
	Handler(accept service.Accept) http.Handler
}

// Mounter is a platform that sends its events to a URL.
type Mounter interface{ Mount(url string) }

// patience is how long a test waits for an event. A receiver may first connect again.
const patience = 20 * time.Second

// Run runs the tests of the contract in service.Adapter.
func Run(t *testing.T, s Suite) {
	for name, test := range map[string]func(*testing.T, Suite){
		"messages":        messages,
		"groups":          groups,
		"threads":         threads,
		"bots":            bots,
		"changes":         changes,
		"buttons":         buttons,
		"redelivery":      redelivery,
		"duplicates":      duplicates,
		"connections":     connections,
		"restarts":        restarts,
		"sends":           sends,
		"links":           links,
		"limits":          limits,
		"busy":            busy,
		"gone":            gone,
		"refused":         refused,
		"broken":          broken,
		"unknown":         unknown,
		"edits":           edits,
		"partial":         partial,
		"changes refused": refusedChanges,
		"deletion":        deletion,
		"check":           check,
		"stop":            stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// room is a running fake with its adapter.
type room struct {
	Suite
	Platform
	t       *testing.T
	adapter service.Adapter

	mu      sync.Mutex
	events  []channel.Event
	cursor  string
	refuse  int // batches of events that accept refuses
	refused []channel.Event
}

// open starts a fake and an adapter that receives.
func (s Suite) open(t *testing.T) *room {
	t.Helper()
	r := s.quiet(t)
	r.receive()
	return r
}

// quiet is open without receiving.
func (s Suite) quiet(t *testing.T) *room {
	t.Helper()
	r := &room{Suite: s, Platform: s.Start(), t: t}
	t.Cleanup(r.Close)
	var err error
	r.adapter, err = s.Open(r.Platform)
	testkit.Must(t, err)
	return r
}

// receive receives until the test ends or stop is called, as the service does: after an error it begins again from the
// last cursor.
func (r *room) receive() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	stop = func() {
		cancel()
		running.Wait()
	}
	r.t.Cleanup(stop)
	if hook, ok := r.adapter.(Webhook); ok {
		server := httptest.NewServer(hook.Handler(r.accept))
		r.t.Cleanup(server.Close)
		if m, ok := r.Platform.(Mounter); ok {
			m.Mount(server.URL)
		}
	}
	running.Go(func() {
		for ctx.Err() == nil {
			if err := r.adapter.Receive(ctx, r.lastCursor(), r.accept); err != nil && ctx.Err() == nil {
				r.t.Logf("receive: %v", err)
				r.noSecret(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return stop
}

func (r *room) lastCursor() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor
}

var errRefused = errors.New("the test does not accept the events")

func (r *room) accept(_ context.Context, events []channel.Event, cursor string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse > 0 && len(events) > 0 {
		r.refuse--
		r.refused = append(r.refused, events...)
		return errRefused
	}
	r.events = append(r.events, events...)
	if cursor != "" {
		r.cursor = cursor
	}
	return nil
}

func (r *room) all() []channel.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// texts returns the texts of all events without repetitions.
func (r *room) texts() (texts []string) {
	seen := map[string]bool{}
	for _, e := range r.all() {
		if !seen[e.Key] {
			texts = append(texts, e.Text)
		}
		seen[e.Key] = true
	}
	return texts
}

// event returns the first event with a text.
func (r *room) event(text string) (found channel.Event) {
	r.t.Helper()
	r.wait("an event with the text "+text, func(e channel.Event) bool {
		found = e
		return e.Text == text
	})
	return found
}

// wait waits for an event.
func (r *room) wait(what string, is func(channel.Event) bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !slices.ContainsFunc(r.all(), is) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s did not arrive; got %+v", what, r.all())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *room) noSecret(err error) {
	r.t.Helper()
	if err != nil && strings.Contains(err.Error(), r.Secret) {
		r.t.Errorf("an error shows a credential: %v", err)
	}
}

// send sends a message to the private chat of user 7.
func (r *room) send(p channel.Part) (string, error) {
	r.t.Helper()
	id, err := r.adapter.Send(r.t.Context(), channel.Place{Account: "ada", Chat: r.Private("7")}, p)
	r.noSecret(err)
	return id, err
}

func messages(t *testing.T, s Suite) {
	r := s.open(t)
	id := r.Say(UserMessage{User: "7", Name: "Ada", Text: "Hello"})
	e := r.event("Hello")
	if e.Kind != channel.Message || e.Key == "" || e.Place != (channel.Place{Account: "ada", Chat: r.Private("7")}) ||
		e.Sender.ID != "7" || e.Sender.Name != "Ada" || e.Group || e.MessageID != id ||
		time.Since(e.At).Abs() > time.Minute {
		t.Errorf("message %s is the event %+v", id, e)
	}
	for _, text := range []string{"Zwei\nZeilen", "价格 < 5 & > 3", "*not bold* _x_ `y`", "👩‍👩‍👧"} {
		r.Say(UserMessage{User: "7", Name: "Ada", Text: text})
		r.event(text)
	}
}

func groups(t *testing.T, s Suite) {
	if s.NoGroup {
		t.Skip("the platform does not distinguish groups from private chats")
	}
	r := s.open(t)
	r.Say(UserMessage{User: "7", Name: "Ada", Chat: r.Group(1), Text: "Among us"})
	r.Say(UserMessage{User: "7", Name: "Ada", Chat: r.Group(1), Text: "Tell us", Mention: true})
	if e := r.event("Tell us"); !e.Group || !e.Mentioned || e.Place.Chat != r.Group(1) {
		t.Errorf("%+v", e)
	}
	if s.OnlyMentions {
		return
	}
	if e := r.event("Among us"); !e.Group || e.Mentioned {
		t.Errorf("%+v", e)
	}
}

func threads(t *testing.T, s Suite) {
	if !s.Threads {
		t.Skip("the platform has no threads")
	}
	r := s.open(t)
	r.Say(UserMessage{User: "7", Name: "Ada", Chat: r.Group(1), Thread: "42", Text: "In a thread", Mention: true})
	e := r.event("In a thread")
	if e.Place.Thread == "" {
		t.Fatalf("%+v", e)
	}
	if _, err := r.adapter.Send(t.Context(), e.Place, channel.Part{Key: "k1", Text: "Reply"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Sent(); len(got) != 1 || got[0].Thread != "42" || got[0].Chat != r.Group(1) {
		t.Errorf("%+v", got)
	}
}

func bots(t *testing.T, s Suite) {
	r := s.open(t)
	r.Say(UserMessage{User: "9", Name: "Robot", Text: "I am a bot", Bot: true})
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "I am not"})
	r.event("I am not")
	for _, e := range r.all() {
		if e.Text == "I am a bot" && !e.Sender.Bot {
			t.Errorf("%+v", e)
		}
	}
}

func changes(t *testing.T, s Suite) {
	r := s.open(t)
	id := r.Say(UserMessage{User: "7", Name: "Ada", Text: "Before"})
	r.event("Before")
	if r.Edit(r.Private("7"), id, "After") {
		e := r.event("After")
		if e.Kind != channel.Edited || e.MessageID != id || e.Key == "" || e.Sender.ID != "7" {
			t.Errorf("%+v", e)
		}
	}
	if r.Delete(r.Private("7"), id) {
		r.wait("the deletion", func(e channel.Event) bool {
			return e.Kind == channel.Deleted && e.MessageID == id && e.Key != "" && !e.Group && e.Sender.ID == "7"
		})
	}
}

func buttons(t *testing.T, s Suite) {
	if !s.Buttons {
		t.Skip("the platform has no buttons")
	}
	r := s.open(t)
	_, err := r.send(
		channel.Part{Key: "k1", Text: "Approve?", Buttons: []channel.Choice{{Label: "Yes", Data: "approve 7"},
			{Label: "No", Data: "reject 7"}}},
	)
	testkit.Must(t, err)
	if got := r.Sent(); len(got) != 1 || len(got[0].Buttons) != 2 || got[0].Buttons[1].Data != "reject 7" {
		t.Fatalf("%+v", got)
	}
	r.Press("7", r.Private("7"), "approve 7")
	e := r.event("approve 7")
	if e.Kind != channel.Button || e.Sender.ID != "7" || e.Place.Chat != r.Private("7") || e.Key == "" {
		t.Errorf("%+v", e)
	}
}

// First returns the first event that an adapter receives. The adapter has ended then, and accepts no other event.
func First(t *testing.T, a service.Adapter) channel.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []channel.Event
	err := a.Receive(ctx, "", func(ctx context.Context, events []channel.Event, _ string) error {
		if ctx.Err() == nil {
			got = append(got, events...)
		}
		if len(got) > 0 {
			cancel()
		}
		return ctx.Err()
	})
	if len(got) == 0 {
		t.Fatalf("no event arrived: %v", err)
	}
	return got[0]
}
