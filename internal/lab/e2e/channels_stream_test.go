package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/discordtest"
	"cairn/internal/lab/fakes/feishutest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/fakes/slacktest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/testkit"
)

// story is a reply that takes seven seconds.
var story = strings.Repeat("It rains in Bergen, day after day. ", 20) + "The end."

// screens is a Cairn with an account of each platform that shows partial replies.
type screens struct {
	*apptest.Bundle
	telegram *telegramtest.Server
	discord  *discordtest.Server
	slack    *slacktest.Server
	feishu   *feishutest.Server
}

func openScreens(t *testing.T) *screens {
	t.Helper()
	s := &screens{telegram: telegramtest.Start(), discord: discordtest.Start(),
		slack: slacktest.Start(slacktest.Options{}), feishu: feishutest.Start(feishutest.Options{})}
	for _, p := range []channeltest.Platform{s.telegram, s.discord, s.slack, s.feishu} {
		t.Cleanup(p.Close)
	}
	file := filepath.Join(t.TempDir(), "channels.yaml")
	const member = "access: open, profile: test"
	testkit.Must(t, os.WriteFile(file, []byte(fmt.Sprintf("accounts:\n"+
		"  tel: {platform: telegram, token: %q, api: %q, %s}\n"+
		"  dis: {platform: discord, token: %q, api: %q, %s}\n"+
		"  sla: {platform: slack, app_token: %q, bot_token: %q, api: %q, %s}\n"+
		"  fei: {platform: feishu, app_id: %q, app_secret: %q, api: %q, %s}\n"+
		"profiles:\n  test: {coalesce: 0s}\n", telegramtest.Token, s.telegram.URL, member, discordtest.Token,
		s.discord.API(), member, slacktest.AppToken, slacktest.BotToken, s.slack.API(), member, feishutest.AppID,
		feishutest.AppSecret, s.feishu.URL, member)), 0o600))
	s.Bundle = apptest.OpenIdle(t, func(o *config.Config) { o.Channels = file })
	s.Start()
	s.Model.On(openaitest.Rule{Stage: "turn", Match: "story", Reply: story, Pace: 220 * time.Millisecond})
	s.Model.On(openaitest.Rule{Stage: "turn", Reply: "Fine."})
	return s
}

// stored returns the number of deliveries that name the message of a partial reply.
func (s *screens) stored() (n int) {
	s.T.Helper()
	testkit.Must(s.T, s.Admin().QueryRow(s.T.Context(),
		"select count(*) from cairn.deliveries where partial_id <> ''").Scan(&n))
	return n
}

// screenChat is a chat of a platform.
type screenChat struct {
	channeltest.Platform
	name, id string
}

// chats returns the chats in which a message is changed.
func (s *screens) chats() []screenChat {
	return []screenChat{
		{s.discord, "discord", s.discord.Private("7")}, // the first, because it waits for the gateway
		{s.telegram, "telegram", s.telegram.Group(1)},
		{s.slack, "slack", s.slack.Private("7")},
		{s.feishu, "feishu", s.feishu.Private("7")},
	}
}

func (c screenChat) say(text string) {
	c.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: c.id, Text: text, Mention: c.name == "telegram"})
}

// got returns the messages of the bot in the chat.
func (c screenChat) got() (out []channeltest.Message) {
	return slices.DeleteFunc(c.Sent(), func(m channeltest.Message) bool { return m.Chat != c.id })
}

// shows waits until the last message of a chat is a part of the story, and returns it.
func (c screenChat) shows(t *testing.T) (m channeltest.Message) {
	t.Helper()
	testkit.Eventually(t, c.name+" shows a part of the reply", func() bool {
		got := c.got()
		if len(got) == 0 {
			return false
		}
		m = got[len(got)-1]
		return m.Text != story && strings.HasPrefix(story, m.Text)
	})
	return m
}

// ends waits until a message is the whole story.
func (c screenChat) ends(t *testing.T, n int) []channeltest.Message {
	t.Helper()
	testkit.Eventually(t, c.name+" shows the whole reply", func() bool {
		return slices.ContainsFunc(c.got(), func(m channeltest.Message) bool { return m.Text == story })
	})
	time.Sleep(2 * time.Second) // nothing else may follow
	got := c.got()
	if len(got) != n {
		t.Errorf("%s: %d messages: %+v", c.name, len(got), got)
	}
	return got
}

// A reply is shown while the model writes it. A command in between is answered at once, and an edit that the platform
// refuses does not harm.
func TestChatsShowPartialReplies(t *testing.T) {
	t.Parallel()
	s := openScreens(t)
	s.StartGateway()
	for _, c := range s.chats() {
		c.say("Tell me a story")
	}
	s.telegram.Say(channeltest.UserMessage{User: "8", Name: "Ben", Text: "Tell me a story"})
	first := map[string]channeltest.Message{}
	for _, c := range s.chats() {
		first[c.name] = c.shows(t)
	}
	s.discord.Fail(channeltest.Fault{Kind: channeltest.Busy, RetryAfter: time.Second}) // ends its partial reply
	s.feishu.Fail(channeltest.Fault{Kind: channeltest.Broken})
	s.chats()[2].say("/help")
	for _, c := range s.chats() {
		n := 1
		if c.name == "slack" {
			n = 2
		}
		got := c.ends(t, n)
		if got[0].ID != first[c.name].ID || got[0].Text != story {
			t.Errorf("%s: %+v began as %+v", c.name, got, first[c.name])
		}
	}
	private := screenChat{s.telegram, "telegram in private", "8"}
	private.ends(t, 1)
	previews := s.telegram.Previews()
	for _, p := range previews {
		if p.Chat != "8" || p.Draft != previews[0].Draft || !strings.HasPrefix(story, p.Text) || p.Text == "" {
			t.Errorf("%+v", p)
		}
	}
	if len(previews) < 3 {
		t.Errorf("%d previews", len(previews))
	}
}

// The gateway dies while it shows a reply. The next one makes the message the reply.
func TestAPartialReplyOutlivesItsGateway(t *testing.T) {
	t.Parallel()
	s := openScreens(t)
	gateway := s.StartGateway()
	first := map[string]channeltest.Message{}
	for _, c := range s.chats() {
		c.say("Tell me a story")
	}
	s.telegram.Say(channeltest.UserMessage{User: "8", Name: "Ben", Text: "Tell me a story"})
	for _, c := range s.chats() {
		first[c.name] = c.shows(t)
	}
	testkit.Eventually(t, "the messages are stored", func() bool { // else Telegram cannot find its one
		return s.stored() == len(s.chats())
	})
	gateway.Kill()
	s.StartGateway()
	for _, c := range s.chats() {
		if got := c.ends(t, 1); got[0].ID != first[c.name].ID {
			t.Errorf("%s: %+v began as %+v", c.name, got, first[c.name])
		}
	}
	private := screenChat{s.telegram, "telegram in private", "8"}
	private.ends(t, 1)
}

// A user deletes the message with the partial reply: the whole reply is sent. A quick reply is one message.
func TestADeletedPartialReplyIsSentAgain(t *testing.T) {
	t.Parallel()
	s := openScreens(t)
	s.StartGateway()
	c := s.chats()[0]
	c.say("How are you?")
	testkit.Eventually(t, "the quick reply arrives", func() bool { return len(c.got()) == 1 })
	c.say("Tell me a story")
	testkit.Eventually(t, "the reply has begun", func() bool { return len(c.got()) == 2 })
	m := c.shows(t)
	s.discord.Delete(c.id, m.ID)
	if got := c.ends(t, 3); got[0].Text != "Fine." || got[1].ID != m.ID || got[1].Text == story { // as it was deleted
		t.Errorf("%+v", got)
	}
	if n := s.stored(); n != 0 {
		t.Errorf("%d deliveries name the message of a partial reply", n)
	}
}

// What is shown when a user stops the reply is the reply.
func TestAStoppedReplyEndsAsItIsShown(t *testing.T) {
	t.Parallel()
	s := openScreens(t)
	s.StartGateway()
	c := s.chats()[0]
	c.say("Tell me a story")
	m := c.shows(t)
	c.say("/stop")
	testkit.Eventually(t, "the delivery is sent", func() bool {
		var n int
		testkit.Must(t, s.Admin().QueryRow(t.Context(), "select count(*) from cairn.deliveries where state = 'sent' "+
			"and source like 'turn/%'").Scan(&n))
		return n == 1
	})
	var reply string
	testkit.Must(t, s.Admin().QueryRow(t.Context(),
		"select content from cairn.messages where role = 'assistant' order by seq desc limit 1").Scan(&reply))
	got := c.got()
	if i := slices.IndexFunc(got, func(o channeltest.Message) bool { return o.ID == m.ID }); i < 0 ||
		strings.TrimSpace(got[i].Text) != strings.TrimSpace(reply) || reply == story {
		t.Errorf("the reply is %q, the chat has %+v", reply, got)
	}
}
