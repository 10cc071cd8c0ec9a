package slack_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/adapter/channel/slack"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/slacktest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// A message whose response was lost is found again, in chats and in threads, also after many other messages.
func TestARepetitionFindsItsMessage(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	thread := d.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: d.Group(1), Text: "Start"})
	for name, to := range map[string]channel.Place{
		"chat":   d.place(),
		"thread": {Account: "ada", Chat: d.Group(1), Thread: thread},
	} {
		before := len(d.Sent())
		d.Fail(channeltest.Fault{Kind: channeltest.Unknown})
		p := channel.Part{Key: "k-" + name, Text: "Hello"}
		if _, err := d.Send(t.Context(), to, p); err == nil {
			t.Errorf("%s: a lost response is no error", name)
		}
		for range 450 { // more than two pages
			d.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: to.Chat, Thread: to.Thread, Text: "Noise"})
		}
		p.Repeated = true
		id, err := d.Send(t.Context(), to, p)
		if got := d.Sent(); err != nil || len(got) != before+1 || got[before].ID != id {
			t.Errorf("%s: %q, %v, sent %+v", name, id, err, got)
		}
		p.Key = "other"
		if _, err := d.Send(t.Context(), to, p); err != nil || len(d.Sent()) != before+2 {
			t.Errorf("%s: the repetition of a message that was not sent: %v", name, err)
		}
	}
}

// While the history cannot be read, a repetition sends nothing.
func TestARepetitionNeedsTheHistory(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	to := channel.Place{Account: "ada", Chat: d.Group(1), Thread: "1700000000.000001"} // does not exist
	_, err := d.Send(t.Context(), to, channel.Part{Key: "k1", Text: "Hello", Repeated: true})
	var refused *service.SendError
	if !errors.As(err, &refused) || !refused.Permanent || len(d.Sent()) != 0 {
		t.Errorf("%v, sent %+v", err, d.Sent())
	}
}

func TestTextIsSentWithoutBlocksThatSlackRefuses(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{Refuse: "invalid_blocks"}, nil)
	text := "a < b\n\n| x | y |"
	id, err := d.Send(t.Context(), d.place(), channel.Part{Key: "k1", Text: text})
	testkit.Must(t, err)
	testkit.Must(t, d.Adapter.Edit(t.Context(), d.place(), id, text+"!"))
	if got := d.Sent(); len(got) != 1 || got[0].Text != "a &lt; b\n\n| x | y |!" {
		t.Errorf("%+v", got)
	}
}

// Slack counts the bytes of the escaped text when a message is changed.
func TestAMessageOfTheGreatestSizeIsChanged(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	id, err := d.Send(t.Context(), d.place(), channel.Part{Key: "k1", Text: "Draft"})
	testkit.Must(t, err)
	for _, piece := range []string{"<", "界", "x"} {
		text := strings.Repeat(piece, d.Limits().Units)
		testkit.Must(t, d.Adapter.Edit(t.Context(), d.place(), id, text))
		if got := d.Sent(); got[0].Text != text {
			t.Errorf("%q: the text has %d bytes", piece, len(got[0].Text))
		}
	}
}

func TestRepliesDoNotNotifyAllMembers(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	_, err := d.Send(t.Context(), d.place(), channel.Part{Key: "k1",
		Text: "<!channel> <!here|here> <!subteam^S1|@team> <!DOCTYPE html> <@7>"})
	testkit.Must(t, err)
	if got := d.Sent()[0].Text; got != "@channel @here @subteam^S1 <!DOCTYPE html> <@7>" {
		t.Errorf("%q", got)
	}
}

func TestLongLabelsAreCut(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	_, err := d.Send(t.Context(), d.place(), channel.Part{Key: "k1", Text: "Choose",
		Buttons: []channel.Choice{{Label: strings.Repeat("é", 100), Data: "x"}}})
	if got := d.Sent(); err != nil || len(got) != 1 || len(got[0].Buttons) != 1 {
		t.Errorf("%v, sent %+v", err, got)
	}
}

func TestNewRejectsIncompleteAccounts(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]slack.Options{
		"no bot token":      {AppToken: "xapp-1"},
		"a user token":      {BotToken: "xoxp-1", AppToken: "xapp-1"},
		"no way to receive": {BotToken: "xoxb-1"},
		"two ways":          {BotToken: "xoxb-1", AppToken: "xapp-1", SigningSecret: "s"},
		"no app token":      {BotToken: "xoxb-1", AppToken: "xoxb-2"},
	} {
		if _, err := slack.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
