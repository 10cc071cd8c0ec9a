package discord_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/channel/discord"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/discordtest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

const pause = 20 * time.Millisecond

func open(t *testing.T, s *discordtest.Server) *discord.Adapter {
	t.Helper()
	a, err := discord.New(discord.Options{Account: "ada", Token: discordtest.Token, API: s.API(), Pause: pause})
	testkit.Must(t, err)
	return a
}

func start(t *testing.T) (*discordtest.Server, *discord.Adapter) {
	t.Helper()
	s := discordtest.Start()
	t.Cleanup(s.Close)
	return s, open(t, s)
}

func TestAdapterKeepsTheContract(t *testing.T) {
	t.Parallel()
	with := func(token string) func(channeltest.Platform) (service.Adapter, error) {
		return func(p channeltest.Platform) (service.Adapter, error) {
			api := p.(*discordtest.Server).API()
			return discord.New(discord.Options{Account: "ada", Token: token, API: api, Pause: pause})
		}
	}
	channeltest.Run(t, channeltest.Suite{
		Start:   func() channeltest.Platform { return discordtest.Start() },
		Open:    with(discordtest.Token),
		Wrong:   with("NTAw.Test.another-secret"),
		Secret:  "secret",
		Threads: true,
		Buttons: true,
	})
}

func TestNewRefusesTokensOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "abc", "a.b", "a b.c.d", "a.b.c\nd", "a.b.c.d"} {
		_, err := discord.New(discord.Options{Account: "ada", Token: token})
		if f := fault.From(err); err == nil || f.Code != fault.Misconfigured || f.Hint == "" {
			t.Errorf("%q: %v", token, err)
		}
	}
	for _, token := range []string{"a.b.c", "Bot a.b.c", " a.b.c\n"} {
		a, err := discord.New(discord.Options{Account: "ada", Token: token})
		if err != nil || a.Token != "a.b.c" {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestCheckNamesTheMissingIntent(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	s.DenyContent()
	err := a.Check(t.Context())
	if f := fault.From(err); err == nil || f.Code != fault.Misconfigured ||
		!strings.Contains(f.Hint, "Message Content Intent") {
		t.Errorf("%v", err)
	}
	accept := func(context.Context, []channel.Event, string) error { return nil }
	if err := a.Receive(t.Context(), "", accept); fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("receive: %v", err)
	}
	if c := s.Counts(); c.Started != 0 {
		t.Errorf("%d sessions were begun", c.Started)
	}
}

// Discord resets the token of a bot that begins too many sessions.
func TestReceiveBeginsNoSessionIfFewAreLeft(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	s.AllowStarts(10)
	accept := func(context.Context, []channel.Event, string) error { return nil }
	if err := a.Receive(t.Context(), "", accept); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
	if c := s.Counts(); c.Started != 0 {
		t.Errorf("%d sessions were begun", c.Started)
	}
}

var private = channel.Place{Account: "ada", Chat: "700000000000000007"}

// Discord knows a nonce for some minutes. Later, the adapter looks for the message.
func TestRepeatedSendFindsTheMessageAfterTheNonceIsForgotten(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	part := channel.Part{Key: "k1", Text: " Done. \n"}
	s.Fail(channeltest.Fault{Kind: channeltest.Unknown})
	if _, err := a.Send(t.Context(), private, part); err == nil {
		t.Fatal("a lost response must be an error")
	}
	s.ForgetNonces()
	part.Repeated = true
	id, err := open(t, s).Send(t.Context(), private, part) // after a restart
	if sent := s.Sent(); err != nil || len(sent) != 1 || sent[0].ID != id {
		t.Errorf("%q, %v, sent %+v", id, err, sent)
	}
}

// A part with the text of an earlier one is another message.
func TestRepeatedSendDoesNotTakeAnotherPartForItsMessage(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	first, err := a.Send(t.Context(), private, channel.Part{Key: "k1", Text: "Done."})
	testkit.Must(t, err)
	s.Fail(channeltest.Fault{Kind: channeltest.Broken})
	part := channel.Part{Key: "k2", Text: "Done."}
	if _, err := a.Send(t.Context(), private, part); err == nil {
		t.Fatal("status 500 must be an error")
	}
	part.Repeated = true
	second, err := a.Send(t.Context(), private, part)
	if err != nil || second == first || len(s.Sent()) != 2 {
		t.Errorf("%q and %q, %v", first, second, err)
	}
}

func TestRepeatedSendReliesOnTheNonceIfTheChannelCannotBeRead(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	s.Hide(private.Chat)
	s.Fail(channeltest.Fault{Kind: channeltest.Unknown})
	part := channel.Part{Key: "k1", Text: "Hello"}
	if _, err := a.Send(t.Context(), private, part); err == nil {
		t.Fatal("a lost response must be an error")
	}
	part.Repeated = true
	if id, err := a.Send(t.Context(), private, part); err != nil || id == "" || len(s.Sent()) != 1 {
		t.Errorf("%q, %v, sent %+v", id, err, s.Sent())
	}
}

// A message that was sent and then deleted is not sent again.
func TestRepeatedSendDoesNotRestoreADeletedMessage(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	part := channel.Part{Key: "k1", Text: "Hello"}
	id, err := a.Send(t.Context(), private, part)
	testkit.Must(t, err)
	s.Delete(private.Chat, id)
	part.Repeated = true
	if _, err := a.Send(t.Context(), private, part); err != nil || len(s.Sent()) != 1 {
		t.Errorf("%v, sent %+v", err, s.Sent())
	}
}

func TestSendNotifiesNoUser(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	id, err := a.Send(t.Context(), private, channel.Part{Key: "k1", Text: "@everyone, look at **this**"})
	testkit.Must(t, err)
	testkit.Must(t, a.Edit(t.Context(), private, id, "@everyone, look at *that*"))
	if c := s.Counts(); c.Pings != 0 || s.Sent()[0].Text != "@everyone, look at *that*" {
		t.Errorf("%+v, sent %+v", c, s.Sent())
	}
}

func TestSendRefusesWhatDiscordCannotShow(t *testing.T) {
	t.Parallel()
	_, a := start(t)
	greatest := channel.Part{Key: "k0", Text: "?",
		Buttons: []channel.Choice{{Label: strings.Repeat("é", 90), Data: strings.Repeat("é", 100)}}}
	if _, err := a.Send(t.Context(), private, greatest); err != nil {
		t.Errorf("the greatest button: %v", err)
	}
	for name, send := range map[string]func() error{
		"data of 101 characters": func() error {
			_, err := a.Send(t.Context(), private, channel.Part{Key: "k1", Text: "?",
				Buttons: []channel.Choice{{Label: "Yes", Data: strings.Repeat("x", 101)}}})
			return err
		},
		"26 buttons": func() error {
			_, err := a.Send(t.Context(), private,
				channel.Part{Key: "k2", Text: "?", Buttons: make([]channel.Choice, 26)})
			return err
		},
		"2,001 characters": func() error {
			_, err := a.Send(t.Context(), private, channel.Part{Key: "k3", Text: strings.Repeat("x", 2001)})
			return err
		},
		"no channel": func() error {
			_, err := a.Send(t.Context(), channel.Place{Chat: "general"}, channel.Part{Key: "k4", Text: "x"})
			return err
		},
		"an unknown channel": func() error {
			_, err := a.Send(t.Context(), channel.Place{Chat: "12"}, channel.Part{Key: "k5", Text: "x"})
			return err
		},
		"an edit of another user's message": func() error { return a.Edit(t.Context(), private, "1", "x") },
		"typing in an unknown channel":      func() error { return a.Typing(t.Context(), channel.Place{Chat: "12"}) },
	} {
		var refused *service.SendError
		if err := send(); !errors.As(err, &refused) || !refused.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	testkit.Must(t, a.Typing(t.Context(), private))
	if s.Counts().Typing != 1 {
		t.Errorf("%+v", s.Counts())
	}
}

// The library does not pass the context to its requests.
func TestRequestsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer s.Close()
	defer close(release)
	a, err := discord.New(discord.Options{Account: "ada", Token: discordtest.Token, API: s.URL})
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if err := a.Typing(ctx, private); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The addresses of files become invalid after about a day.
func TestFetchReadsFilesAlsoAfterTheirAddressExpired(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Attach("7", "notes.txt", "text/plain; charset=utf-8", []byte("eggs"))
	e := r.await("the file", func(e channel.Event) bool { return len(e.Attachments) == 1 })
	f := e.Attachments[0]
	if f.Name != "notes.txt" || f.Type != "text/plain" || f.Size != 4 {
		t.Errorf("%+v", f)
	}
	for range 2 {
		body, err := a.Fetch(t.Context(), f)
		testkit.Must(t, err)
		text, err := io.ReadAll(body)
		testkit.Must(t, errors.Join(err, body.Close()))
		if string(text) != "eggs" {
			t.Errorf("%q", text)
		}
		s.ExpireFiles()
	}
	s.Delete(private.Chat, e.MessageID)
	if _, err := a.Fetch(t.Context(), f); err == nil {
		t.Error("a deleted file was read")
	}
	if _, err := a.Fetch(t.Context(), channel.Attachment{Ref: "x"}); err == nil {
		t.Error("an invalid reference was read")
	}
}
