package discord_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/discordtest"
	"cairn/internal/testkit"
)

func say(text string) channeltest.UserMessage {
	return channeltest.UserMessage{User: "7", Name: "Ada", Text: text}
}

func TestRestartResumesTheSession(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Say(say("one"))
	r.text("one")
	r.stop()
	s.Say(say("two"))
	s.Say(say("three"))
	r.run(open(t, s))
	r.text("three")
	if c := s.Counts(); c.Started != 1 || c.Resumed != 1 || len(r.all()) != 3 {
		t.Errorf("%+v, events %q", c, r.texts())
	}
}

// The session is lost while the process is stopped.
func TestRefusedResumeReadsTheMissedMessages(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	want := []string{"one"}
	s.Say(say("one"))
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1), Text: "first among us"})
	r.text("one")
	r.text("first among us")
	r.stop()
	s.Forget()
	for i := range 230 { // three pages
		want = append(want, fmt.Sprintf("missed %d", i))
		s.Say(say(want[len(want)-1]))
	}
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1), Text: "second among us"})
	s.Say(channeltest.UserMessage{User: "9", Name: "Robot", Text: "I am a bot", Bot: true})
	r.run(open(t, s))
	if e := r.text("second among us"); !e.Group {
		t.Errorf("%+v", e)
	}
	r.text("missed 229")
	s.Say(say("after"))
	r.text("after")
	got := slices.DeleteFunc(r.texts(), func(text string) bool { return strings.Contains(text, "among") })
	if !slices.Equal(got, append(want, "after")) {
		t.Errorf("%q", got)
	}
	if c := s.Counts(); c.Started != 2 {
		t.Errorf("%+v", c)
	}
}

// The new session counts only after the missed messages are stored.
func TestCrashWhileReadingMissedMessagesLosesNone(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Say(say("one"))
	s.Say(channeltest.UserMessage{User: "8", Name: "Bob", Text: "two"})
	r.text("one")
	r.text("two")
	r.stop()
	s.Forget()
	s.Say(say("three"))
	s.Say(channeltest.UserMessage{User: "8", Name: "Bob", Text: "four"})
	s.Say(channeltest.UserMessage{User: "9", Name: "Eve", Text: "in an unknown channel"}) // cannot be found
	refused := 0
	r.refuse = func(events []channel.Event) bool { // those of the second channel
		last := len(events) - 1
		if last < 0 || events[last].Text != "four" || refused == 3 {
			return false
		}
		refused++
		return true
	}
	r.run(open(t, s))
	r.text("three")
	r.text("four")
	if refused != 3 {
		t.Errorf("refused %d times", refused)
	}
}

// Channels that the bot has left do not stop the others.
func TestMissedMessagesOfLostChannelsAreLeftOut(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(2), Text: "in a group"})
	s.Say(say("one"))
	r.text("one")
	r.stop()
	s.Forget()
	s.Hide(s.Group(2))
	s.Say(say("two"))
	r.run(open(t, s))
	r.text("two")
	until(t, "a session", func() bool { return strings.Contains(r.saved(), "session") })
	if strings.Contains(r.saved(), s.Group(2)) {
		t.Errorf("the cursor is %s", r.saved())
	}
}

func TestReceiveFollowsTheRequestToReconnect(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Say(say("one"))
	r.text("one")
	s.Reconnect()
	until(t, "a resumed session", func() bool { return s.Counts().Resumed > 0 })
	s.Say(say("two"))
	r.text("two")
	if c := s.Counts(); c.Started != 1 {
		t.Errorf("%+v", c)
	}
}

// Discord may forget what a heartbeat confirms, so it confirms stored events only.
func TestHeartbeatsKeepTheConnectionAndConfirmStoredEventsOnly(t *testing.T) {
	t.Parallel()
	s, err := discordtest.Open(discordtest.Options{Interval: 200 * time.Millisecond})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	r := receive(t, open(t, s), "")
	s.Say(say("one"))
	r.text("one")
	r.mu.Lock() // the next event is not stored until the lock is free
	s.Say(say("two"))
	before := len(s.Counts().Beats)
	until(t, "heartbeats", func() bool { return len(s.Counts().Beats) >= before+3 })
	beats := s.Counts().Beats
	r.mu.Unlock()
	if slices.Max(beats) != 2 {
		t.Errorf("heartbeats confirm %v; READY and one message are stored", beats)
	}
	r.text("two")
	if c := s.Counts(); c.Started != 1 {
		t.Errorf("%+v", c)
	}
}

func TestPressedButtonsAreAnsweredAfterTheyAreStored(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	_, err := a.Send(t.Context(), private, channel.Part{Key: "k1", Text: "Approve?",
		Buttons: []channel.Choice{{Label: "Yes", Data: "approve 7"}}})
	testkit.Must(t, err)
	r.mu.Lock()
	s.Press("7", private.Chat, "approve 7")
	answered := s.Counts().Answered
	r.mu.Unlock()
	if answered != 0 {
		t.Error("answered before it was stored")
	}
	r.text("approve 7")
	until(t, "an answer", func() bool { return s.Counts().Answered > 0 })
}

func TestTextsAreReadable(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	bob := map[string]any{"id": "8", "username": "bob", "global_name": "Bob", "discriminator": "0", "avatar": nil}
	s.SayWith(say("<@8> meet <@!"+discordtest.BotID+"> <:wave:123> in <#5> at <t:1>"),
		map[string]any{"mentions": []any{bob}})
	if e := r.text("@Bob meet  :wave: in <#5> at <t:1>"); !e.Mentioned {
		t.Errorf("%+v", e)
	}
	s.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1), Text: "And then?"},
		map[string]any{"type": 19,
			"referenced_message": map[string]any{"id": "1", "author": map[string]any{"id": discordtest.BotID}}})
	if e := r.text("And then?"); !e.Mentioned {
		t.Errorf("a reply to the bot: %+v", e)
	}
	s.SayWith(say(""), map[string]any{"message_snapshots": []any{map[string]any{"message": map[string]any{
		"content": "forwarded", "attachments": []any{map[string]any{"id": "4", "filename": "a.png", "size": 3,
			"url": "https://example.org/a.png"}}}}}})
	if e := r.text("forwarded"); len(e.Attachments) != 1 {
		t.Errorf("%+v", e)
	}
}

// Messages that Cairn does not read, or that have members of another form, do not stop the others.
func TestOtherEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	id := s.SayWith(say("with components"), map[string]any{"components": []any{map[string]any{"type": 99}}})
	r.text("with components")
	s.SayWith(say("joined"), map[string]any{"type": 7})
	s.SayWith(say("by a webhook"), map[string]any{"webhook_id": "12"})
	s.SayWith(say("broken"), map[string]any{"timestamp": 5})
	s.Emit("MESSAGE_UPDATE", map[string]any{"id": id, "channel_id": private.Chat, "embeds": []any{}})
	s.Emit("TYPING_START", map[string]any{"user_id": "7"})
	s.Emit("INTERACTION_CREATE", map[string]any{"id": "5", "type": 2, "token": "x", "channel_id": private.Chat})
	s.Emit("MESSAGE_DELETE_BULK", map[string]any{"ids": []string{"31", "32"}, "channel_id": s.Group(1),
		"guild_id": "900000000000000001"})
	e := r.await("the last removal", func(e channel.Event) bool { return e.Key == "deleted-32" })
	if e.Kind != channel.Deleted || !e.Group || e.Place.Chat != s.Group(1) || len(r.all()) != 3 {
		t.Errorf("%+v", r.all())
	}
}

func TestChannelsThatCannotBeReadAreTheirOwnPlace(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	s.Hide(s.Group(3))
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(3), Text: "Hello"})
	if e := r.text("Hello"); e.Place.Chat != s.Group(3) || !e.Group {
		t.Errorf("%+v", e)
	}
}

// The cursor is bounded.
func TestCursorKeepsTheLatestChannels(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "")
	for i := range 230 {
		s.Say(channeltest.UserMessage{User: fmt.Sprint(1000 + i), Name: "User", Text: fmt.Sprintf("from %d", i)})
	}
	r.text("from 229")
	if n := strings.Count(r.saved(), `"7000000`); n != 200 || strings.Contains(r.saved(), s.Private("1000")) ||
		!strings.Contains(r.saved(), s.Private("1229")) {
		t.Errorf("%d channels in a cursor of %d bytes", n, len(r.saved()))
	}
}

func TestUnreadableCursorBeginsANewSession(t *testing.T) {
	t.Parallel()
	s, a := start(t)
	r := receive(t, a, "{broken")
	s.Say(say("Hello"))
	r.text("Hello")
}

// Connections break, sessions end, events are not accepted, and the process starts again. No message is lost, and
// the order of each chat is kept.
func TestNoMessageIsLost(t *testing.T) {
	t.Parallel()
	const users, messages = 5, 200
	s, a := start(t)
	random := rand.New(rand.NewPCG(1, 2))
	r := receive(t, a, "")
	want := map[string][]string{}
	tell := func(user, n int) {
		text := fmt.Sprintf("%d of %d", n, user)
		chat := s.Private(fmt.Sprint(user))
		want[chat] = append(want[chat], text)
		s.Say(channeltest.UserMessage{User: fmt.Sprint(user), Name: "User", Text: text})
	}
	for user := range users {
		tell(user+1, -1) // makes the chat known
		r.text(fmt.Sprintf("-1 of %d", user+1))
	}
	r.mu.Lock()
	r.refuse = func([]channel.Event) bool { return random.IntN(8) == 0 } // under the lock
	r.mu.Unlock()
	faults := rand.New(rand.NewPCG(3, 4))
	for n := range messages {
		tell(1+n%users, n)
		switch faults.IntN(25) {
		case 0:
			s.Drop()
		case 1:
			s.Forget()
		case 2:
			s.Reconnect()
		case 3:
			r.stop()
			r.run(open(t, s))
		case 4:
			time.Sleep(pause)
		}
	}
	for user := range users {
		texts := want[s.Private(fmt.Sprint(user+1))]
		r.text(texts[len(texts)-1])
	}
	got, seen := map[string][]string{}, map[string]bool{}
	for _, e := range r.all() {
		if !seen[e.Key] {
			got[e.Place.Chat] = append(got[e.Place.Chat], e.Text)
		}
		seen[e.Key] = true
	}
	for chat, texts := range want {
		if !slices.Equal(got[chat], texts) {
			t.Errorf("chat %s: %q, want %q", chat, got[chat], texts)
		}
	}
}
