package telegram_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"cairn/internal/adapter/channel/telegram"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/telegramtest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

func open(p channeltest.Platform, token string) (service.Adapter, error) {
	return telegram.New(telegram.Options{Account: "ada", Token: token, API: p.(*telegramtest.Server).URL})
}

func TestTelegram(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Suite{
		Start:   func() channeltest.Platform { return telegramtest.Start() },
		Open:    func(p channeltest.Platform) (service.Adapter, error) { return open(p, telegramtest.Token) },
		Wrong:   func(p channeltest.Platform) (service.Adapter, error) { return open(p, "12345:wrong") },
		Secret:  telegramtest.Token,
		Threads: true,
		Buttons: true,
	})
}

func TestAFileIsAnAttachment(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	server.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Read this"}, []byte("secret plan"))
	e := channeltest.First(t, a)
	if len(e.Attachments) != 1 || e.Text != "Read this" || e.Attachments[0].Name != "notes.txt" ||
		e.Attachments[0].Size != 11 {
		t.Fatalf("%+v", e)
	}
	f, err := a.(service.Fetcher).Fetch(t.Context(), e.Attachments[0])
	testkit.Must(t, err)
	defer f.Close()
	if raw, err := io.ReadAll(f); err != nil || string(raw) != "secret plan" {
		t.Errorf("%q, %v", raw, err)
	}
	testkit.Must(t, a.(service.Typer).Typing(t.Context(), channel.Place{Account: "ada", Chat: "7"}))
}

// The server counts a message without its markup, so a full message with much markup is accepted.
func TestMarkupDoesNotCount(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	text := ""
	for len(text) < 4000 {
		text += "**b** "
	}
	_, err = a.Send(t.Context(), channel.Place{Account: "ada", Chat: "7"}, channel.Part{Key: "k", Text: text})
	if err != nil || len(server.Sent()) != 1 || time.Since(server.Sent()[0].At) > time.Minute {
		t.Errorf("%v", err)
	}
}

// An edit may be repeated, because the outcome of the first attempt can be unknown.
func TestAnEditCanBeRepeated(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	at := channel.Place{Account: "ada", Chat: "7"}
	id, err := a.Send(t.Context(), at, channel.Part{Key: "k", Text: "Draft"})
	testkit.Must(t, err)
	for range 2 {
		testkit.Must(t, a.(service.Editor).Edit(t.Context(), at, id, "**Final**"))
	}
	if got := server.Sent()[0].Text; got != "<b>Final</b>" {
		t.Errorf("%q", got)
	}
	var refused *service.SendError
	err = a.(service.Editor).Edit(t.Context(), at, "99", "Final")
	if !errors.As(err, &refused) || !refused.Permanent {
		t.Errorf("a message that does not exist: %v", err)
	}
}

// A command for another bot is not for this one.
func TestACommandNamesItsBot(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	for _, text := range []string{"/new@other_bot", "/new@other_bot now", "/New@Cairn_Bot now"} {
		server.Say(channeltest.UserMessage{User: "7", Chat: server.Group(1), Name: "Ada", Text: text})
	}
	if e := channeltest.First(t, a); e.Text != "/New@Cairn_Bot now" {
		t.Errorf("%+v", e)
	}
}

// A text that has nothing to show as HTML is sent as it is. Telegram refuses empty messages.
func TestATextWithoutWords(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	for i, text := range []string{"![](https://example.org/cat.png)", "[1]: https://example.org"} {
		_, err = a.Send(t.Context(), channel.Place{Account: "ada", Chat: "7"}, channel.Part{Key: "k", Text: text})
		if err != nil || len(server.Sent()) != i+1 || server.Sent()[i].Text != text {
			t.Errorf("%q: %v, %+v", text, err, server.Sent())
		}
	}
}
