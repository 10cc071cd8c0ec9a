package dingtalk_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/channel/dingtalk"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/dingtalktest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

func open(s *dingtalktest.Server, secret string) (*dingtalk.Adapter, error) {
	return dingtalk.New(dingtalk.Options{Account: "ada", ClientID: dingtalktest.ClientID, ClientSecret: secret,
		API: s.URL, Ping: 100 * time.Millisecond})
}

func TestDingTalkKeepsTheContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Suite{
		Start: func() channeltest.Platform { return dingtalktest.Start() },
		Open: func(p channeltest.Platform) (service.Adapter, error) {
			return open(p.(*dingtalktest.Server), dingtalktest.ClientSecret)
		},
		Wrong: func(p channeltest.Platform) (service.Adapter, error) {
			return open(p.(*dingtalktest.Server), "another-secret")
		},
		Secret:       dingtalktest.ClientSecret,
		OnlyMentions: true,
	})
}

// inbox collects the events of an adapter that receives until the test ends.
type inbox struct {
	*dingtalk.Adapter
	mu     sync.Mutex
	events []channel.Event
}

func start(t *testing.T) (*dingtalktest.Server, *inbox) {
	t.Helper()
	s := dingtalktest.Start()
	t.Cleanup(s.Close)
	a, err := open(s, dingtalktest.ClientSecret)
	testkit.Must(t, err)
	in := &inbox{Adapter: a}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_ = a.Receive(ctx, "", func(_ context.Context, events []channel.Event, _ string) error {
				in.mu.Lock()
				defer in.mu.Unlock()
				in.events = append(in.events, events...)
				return nil
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s, in
}

// message waits for an event.
func (i *inbox) message(t *testing.T, id string) channel.Event {
	t.Helper()
	var found channel.Event
	eventually(t, "message "+id, func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, e := range i.events {
			if e.MessageID == id {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: not in time", what)
}

func TestGroupsAndPrivateChats(t *testing.T) {
	t.Parallel()
	s, in := start(t)
	said := channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1), Mention: true, Text: "Tell us"}
	e := in.message(t, s.Say(said))
	if e.Place.Chat != s.Group(1) || !e.Group || !e.Mentioned || e.Text != "Tell us" {
		t.Errorf("%+v", e)
	}
	for _, chat := range []string{e.Place.Chat, "user:7"} {
		id, err := in.Send(t.Context(), channel.Place{Chat: chat}, channel.Part{Key: "k", Text: "Answer"})
		got := s.Sent()
		if err != nil || id == "" || got[len(got)-1].Chat != chat {
			t.Errorf("%s: %v, %+v", chat, err, got)
		}
	}
	s.Fail(channeltest.Fault{Kind: channeltest.Gone})
	_, err := in.Send(t.Context(), e.Place, channel.Part{Key: "k", Text: "Answer"})
	isPermanent(t, err)
	s.Remove("7")
	_, err = in.Send(t.Context(), channel.Place{Chat: "user:7"}, channel.Part{Key: "k", Text: "Answer"})
	isPermanent(t, err)
}

func isPermanent(t *testing.T, err error) {
	t.Helper()
	var refused *service.SendError
	if !errors.As(err, &refused) || !refused.Permanent {
		t.Errorf("%v", err)
	}
}

func TestAttachmentsAreRead(t *testing.T) {
	t.Parallel()
	s, in := start(t)
	said := channeltest.UserMessage{User: "7", Name: "Ada"}
	for _, c := range []struct {
		kind, text, mime string
		content          map[string]any
	}{
		{"picture", "", "", map[string]any{}},
		{"file", "", "application/pdf", map[string]any{"fileName": "plan.pdf"}},
		{"audio", "", "audio/amr", map[string]any{"duration": 4000}},
	} {
		e := in.message(t, s.Attach(said, c.kind, c.content, "code-"+c.kind, []byte(c.kind)))
		if len(e.Attachments) != 1 || e.Attachments[0].Type != c.mime || e.Text != c.text {
			t.Fatalf("%+v", e)
		}
		body, err := in.Fetch(t.Context(), e.Attachments[0])
		testkit.Must(t, err)
		raw, err := io.ReadAll(body)
		testkit.Must(t, err)
		testkit.Must(t, body.Close())
		if string(raw) != c.kind {
			t.Errorf("%s: read %q", c.kind, raw)
		}
	}
	if _, err := in.Fetch(t.Context(), channel.Attachment{Ref: "none"}); err == nil {
		t.Error("a missing file was read")
	}
	spoken := in.message(t, s.Attach(said, "audio", map[string]any{"recognition": "Hello there"}, "code-y", nil))
	if spoken.Text != "Hello there" || len(spoken.Attachments) != 0 {
		t.Errorf("speech that the platform has transcribed: %+v", spoken)
	}
	rich := in.message(t, s.SayContent(said, map[string]any{"msgtype": "richText", "content": map[string]any{
		"richText": []any{map[string]any{"text": "See "}, map[string]any{"type": "picture", "downloadCode": "code-x"},
			map[string]any{"text": "it"}}}}))
	if rich.Text != "See it" || len(rich.Attachments) != 1 || rich.Attachments[0].Ref != "code-x" {
		t.Errorf("%+v", rich)
	}
}

func TestMessagesOfTheSystem(t *testing.T) {
	t.Parallel()
	s, in := start(t)
	in.message(t, s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Hello"}))
	s.System("ping", `{"opaque":"x"}`)
	eventually(t, "the answer to a ping", func() bool { return slices.Equal(s.Answers(), []string{`{"opaque":"x"}`}) })
	s.System("KEEPALIVE", "{}")
	s.System("disconnect", `{"reason":"shutdown"}`)
	in.message(t, s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "After the move"}))
	eventually(t, "all acknowledgements", func() bool { return s.Open() == 0 })
}

func TestAnOldTokenIsRenewed(t *testing.T) {
	t.Parallel()
	s, in := start(t)
	for range 3 {
		_, err := in.Send(t.Context(), channel.Place{Chat: "user:7"}, channel.Part{Key: "k", Text: "Answer"})
		testkit.Must(t, err)
		s.Expire()
	}
}

func TestButtonsBecomeCommands(t *testing.T) {
	t.Parallel()
	s, in := start(t)
	_, err := in.Send(t.Context(), channel.Place{Chat: "user:7"}, channel.Part{Key: "k", Text: "Delete it?",
		Buttons: []channel.Choice{{Label: "Yes", Data: "approve 7"}, {Label: "No", Data: "/reject 7"}}})
	testkit.Must(t, err)
	if got := s.Sent()[0].Text; got != "Delete it?\n\n- Yes: `/approve 7`  \n- No: `/reject 7`" {
		t.Errorf("%q", got)
	}
}

func TestMarkdownOfDingTalk(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"one\ntwo\n\nthree":             "one  \ntwo\n\nthree",
		"```go\na\nb\n```\nEnd\nof it":  "```go\na\nb\n```\nEnd  \nof it",
		"~~~\n```\na\n~~~\nb\nc":        "~~~\n```\na\n~~~\nb  \nc",
		"> a\n> b":                      "> a  \n> b",
		"a  \nb":                        "a  \nb",
		"- **a**\n- b":                  "- **a**  \n- b",
		"":                              "",
		"````\n```\nx\n```\n````\ny\nz": "````\n```\nx\n```\n````\ny  \nz",
	} {
		if got := dingtalk.Markdown(source); got != want {
			t.Errorf("%q became %q, want %q", source, got, want)
		}
	}
	if long := strings.Repeat("界\n", 2500); len(dingtalk.Markdown(long)) > 20_000 {
		t.Errorf("%d bytes", len(dingtalk.Markdown(long)))
	}
}
