package channel_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	service "cairn/internal/service/channel"
	"cairn/internal/service/replystream"
	"cairn/internal/testkit"
)

// screen is a platform with one chat, which shows messages.
type screen struct {
	mu       sync.Mutex
	messages []shown
	next     int
	keys     map[string]string // IDs by the keys of parts
	log      []string          // requests that had an effect
	fail     map[string]error  // of the next request of a kind: send, edit or delete
	after    bool              // fail has its effect first, once
	decides  bool
	events   chan channel.Event
}

type shown struct{ id, text string }

var errBroken = errors.New("the connection is broken")

// fault returns whether a request has its effect, and its error. The lock is held.
func (s *screen) fault(kind string) (effect bool, err error) {
	err = s.fail[kind]
	delete(s.fail, kind)
	effect = err == nil || s.after
	if err != nil {
		s.after = false
	}
	if effect {
		s.log = append(s.log, kind)
	}
	return effect, err
}

func (s *screen) find(id string) int {
	return slices.IndexFunc(s.messages, func(m shown) bool { return m.id == id })
}

func (s *screen) Receive(ctx context.Context, _ string, accept service.Accept) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			if err := accept(ctx, []channel.Event{e}, ""); err != nil {
				return err
			}
		}
	}
}

func (s *screen) Send(_ context.Context, _ channel.Place, p channel.Part) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := s.keys[p.Key]; id != "" && s.decides {
		return id, nil
	}
	effect, err := s.fault("send")
	if !effect {
		return "", err
	}
	s.next++
	id := strconv.Itoa(s.next)
	s.keys[p.Key] = id
	s.messages = append(s.messages, shown{id, p.Text})
	return id, err
}

func (s *screen) Edit(_ context.Context, _ channel.Place, id, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(id)
	if i < 0 {
		return &service.SendError{Reason: "no such message", Permanent: true}
	}
	effect, err := s.fault("edit")
	if effect {
		s.messages[i].text = text
	}
	return err
}

func (s *screen) Delete(_ context.Context, _ channel.Place, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	effect, err := s.fault("delete")
	if i := s.find(id); effect && i >= 0 {
		s.messages = slices.Delete(s.messages, i, i+1)
	}
	return err
}

func (s *screen) Check(context.Context) error { return nil }

func (s *screen) Limits() channel.Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return channel.Limits{Units: 200, Parts: 5, Decides: s.decides}
}

func (s *screen) Pace(channel.Place) channel.Pace { return channel.Pace{Every: 50 * time.Millisecond} }

func (s *screen) texts() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		out = append(out, m.text)
	}
	return out
}

// first returns the ID of the first message.
func (s *screen) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages[0].id
}

func (s *screen) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// desk is a gateway with one account, without Temporal: the test ends turns and sends deliveries.
type desk struct {
	*pgtest.Store
	*screen
	t       *testing.T
	service *service.Service
	account service.Account
	agents  *agentrun.Service
	writer  *replystream.Writer
	begun   map[string]func(string)
	said    map[string]string // by run
	stop    func()
}

type noCommands struct{}

func (noCommands) Known(name string) bool  { return name == "help" }
func (noCommands) List() []channel.Command { return nil }
func (noCommands) Run(context.Context, service.CommandInput) (service.CommandReply, error) {
	return service.CommandReply{Text: "Help."}, nil
}
func (noCommands) Report(context.Context, run.Ref) (string, bool, error) { return "", true, nil }

// replies reads the text of replies.
type replies struct {
	*replystream.Writer
	*replystream.Reader
	store *pgtest.Store
}

func (r replies) News(ref run.Ref) (text, ended <-chan struct{}, stop func()) {
	text, stopText := r.store.ReplyNews(ref.Run)
	ended, stopEnded := r.store.Ended(ref.Run)
	return text, ended, func() { stopText(); stopEnded() }
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, Store: pgtest.Open(t), begun: map[string]func(string){}, said: map[string]string{},
		screen: &screen{keys: map[string]string{}, fail: map[string]error{}, events: make(chan channel.Event, 10)}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	d.writer = replystream.NewWriter(d.Store, log)
	reader := replystream.NewReader(d.Store)
	both := replies{d.writer, reader, d.Store}
	d.agents = &agentrun.Service{Ports: agentrun.Ports{Store: d.Store.Store, Replies: both}}
	d.service = service.New(service.Ports{Store: d.Channels(), Workspaces: d.Store.Store, Inbox: d.Inbox(),
		Commands: noCommands{}, Replies: both, Log: log,
		Settings: func(context.Context, int64) (settings.Settings, error) { return settings.Settings{}, nil },
		FileText: func(context.Context, []byte) (string, error) { return "", nil },
		TurnSpec: func() agentrun.Spec { return agentrun.Spec{} }})
	d.account = service.Account{Name: "desk", Platform: "screen", Access: service.AccessOpen, Adapter: d.screen,
		Profile: channel.Profile{Partial: true}}
	testkit.Must(t, d.service.Register(t.Context(), []service.Account{d.account}))
	d.serve()
	t.Cleanup(func() { d.stop() })
	return d
}

// serve starts to receive, and stop ends it.
func (d *desk) serve() {
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.service.Receive(ctx, d.account) }) // ends with ctx
	d.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// say makes a user write. It returns the run of the turn.
func (d *desk) say(text string) run.Ref {
	d.t.Helper()
	key := "e" + strconv.Itoa(d.Number("select count(*) from channel_events"))
	d.events <- channel.Event{Key: key, Kind: channel.Message, Place: channel.Place{Account: "desk", Chat: "room"},
		Sender: channel.Sender{ID: "ada", Name: "Ada"}, Text: text, MessageID: key, At: time.Now()}
	testkit.Eventually(d.t, "the message is handled", func() bool {
		return d.Number("select count(*) from channel_events where key = $1 and state = 'handled'", key) == 1
	})
	ref := run.Ref{Workspace: int64(d.Number("select max(workspace_id) from channel_routes"))}
	if text[0] != '/' {
		ref.Run = d.Text("select id from runs order by created_at desc limit 1")
	}
	return ref
}

// write makes the model write more of a reply.
func (d *desk) write(ref run.Ref, text string) {
	emit := d.begun[ref.Run]
	if emit == nil {
		emit = d.writer.Open(ref, 1, 1)
		d.begun[ref.Run] = emit
	}
	d.said[ref.Run] += text
	emit(text)
}

// end ends a turn with what the model has written.
func (d *desk) end(ref run.Ref) {
	d.t.Helper()
	testkit.Eventually(d.t, "the text is stored", func() bool {
		return d.Text("select coalesce(string_agg(body, '' order by seq), '') from reply_chunks where run_id = $1",
			ref.Run) == d.said[ref.Run]
	})
	_, err := d.agents.Close(d.t.Context(), pgtest.CloseAgent(ref, agent.Interrupted))
	testkit.Must(d.t, err)
}

// deliver sends what is open, as the workflow does. It returns the first error.
func (d *desk) deliver(ref run.Ref) error {
	d.t.Helper()
	route := int64(d.Number("select max(id) from channel_routes"))
	for {
		in := contract.DeliverInput{Workspace: ref.Workspace, Route: route}
		next, err := d.service.Next(d.t.Context(), in)
		testkit.Must(d.t, err)
		if next.Delivery == 0 {
			return nil
		}
		part := contract.DeliveryInput{DeliverInput: in, Delivery: next.Delivery}
		if _, err := d.service.SendPart(d.t.Context(), d.account, part); err != nil {
			return err
		}
	}
}

// shows waits until the screen shows messages.
func (d *desk) shows(want ...string) {
	d.t.Helper()
	testkit.Eventually(d.t, "the screen shows the messages", func() bool { return slices.Equal(d.texts(), want) })
}
