package telegram_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/testkit"
)

// inbox collects the events of an account until the test ends.
type inbox struct {
	*telegramtest.Server
	t *testing.T

	mu     sync.Mutex
	events []channel.Event
	cursor string
}

func receive(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{Server: telegramtest.Start(), t: t}
	t.Cleanup(in.Close)
	a, err := open(in.Server, telegramtest.Token)
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Receive(ctx, "", in.accept); ctx.Err() == nil {
			t.Errorf("Receive ended: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return in
}

func (i *inbox) accept(_ context.Context, events []channel.Event, cursor string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.events, i.cursor = append(i.events, events...), cursor
	return nil
}

// until returns the events after one with a text has arrived.
func (i *inbox) until(text string) []channel.Event {
	i.t.Helper()
	has := func(e channel.Event) bool { return e.Text == text }
	testkit.Eventually(i.t, "the event "+text, func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return slices.ContainsFunc(i.events, has)
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.events)
}

func (i *inbox) say(text string) { i.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: text}) }

// message returns a message of user 7 in a group, with more members.
func message(more map[string]any) map[string]any {
	m := map[string]any{"message_id": 900, "date": 1700000000, "from": map[string]any{"id": 7, "first_name": "Ada"},
		"chat": map[string]any{"id": -1001, "type": "supergroup"}}
	maps.Copy(m, more)
	return m
}

// hear delivers a message with more members.
func (i *inbox) hear(more map[string]any) { i.Emit(map[string]any{"message": message(more)}) }

// An update of a form that the library does not know must not stop the account.
func TestAnUnknownUpdateIsLeftOut(t *testing.T) {
	t.Parallel()
	undecodable := metrics.Rejected{Platform: "telegram", Reason: metrics.Undecodable}
	counted := metrics.Read().Rejected[undecodable]
	in := receive(t)
	in.hear(map[string]any{"text": "Forwarded",
		"forward_origin": map[string]any{"type": "of_the_future", "date": 1700000000}})
	in.say("After")
	if got := in.until("After"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if n := metrics.Read().Rejected[undecodable] - counted; n == 0 {
		t.Error("the update is not counted")
	}
}

// After a week without updates, Telegram begins with other IDs, which can be lower.
func TestUpdatesCanHaveLowerIDs(t *testing.T) {
	t.Parallel()
	in := receive(t)
	in.Renumber(1000)
	in.say("one")
	in.until("one")
	in.Renumber(5)
	in.say("two")
	in.until("two")
	in.say("three")
	got := in.until("three")
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(got) != 3 || in.cursor != "7" {
		t.Errorf("cursor %s after %+v", in.cursor, got)
	}
}

func TestMentionsAreWholeNames(t *testing.T) {
	t.Parallel()
	in := receive(t)
	group := in.Group(1)
	for text, c := range map[string]struct {
		want      string
		mentioned bool
	}{
		"@cairn_bot one":            {"one", true},
		"@Cairn_Bot two":            {"two", true},
		"three @cairn_bot, please":  {"three , please", true},
		"👩‍👩‍👧 @cairn_bot four":     {"👩‍👩‍👧  four", true},
		"@cairn_bot2 five":          {"@cairn_bot2 five", false},
		"mail x@cairn_bot six":      {"mail x@cairn_bot six", false},
		"/ask@cairn_bot\nseven":     {"/ask@cairn_bot\nseven", true},
		"/home/ada@example.org has": {"/home/ada@example.org has", false},
		"/new eight":                {"/new eight", false},
	} {
		in.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: group, Text: text})
		got := in.until(c.want)
		if i := slices.IndexFunc(
			got,
			func(e channel.Event) bool { return e.Text == c.want },
		); got[i].Mentioned != c.mentioned {
			t.Errorf("%q: mentioned is %v", text, got[i].Mentioned)
		}
	}
	in.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: group, Text: "/new@other_bot\nnow"})
	in.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Chat: group, Text: "@cairn_bot read this"}, []byte("x"))
	got := in.until("read this")
	if last := got[len(got)-1]; !last.Mentioned || slices.ContainsFunc(got, func(e channel.Event) bool {
		return e.Text == "/new@other_bot\nnow"
	}) {
		t.Errorf("%+v", got)
	}
}

// A user without a name can be mentioned by a link.
func TestAMentionCanBeALink(t *testing.T) {
	t.Parallel()
	in := receive(t)
	link := func(user int) []any {
		return []any{map[string]any{"type": "text_mention", "offset": 0, "length": 5,
			"user": map[string]any{"id": user, "is_bot": true, "first_name": "Cairn"}}}
	}
	in.hear(map[string]any{"text": "Other hello", "entities": link(2)})
	in.hear(map[string]any{"text": "Cairn hello", "entities": link(1)})
	got := in.until("hello")
	if len(got) != 2 || got[0].Mentioned || got[0].Text != "Other hello" || !got[1].Mentioned {
		t.Errorf("%+v", got)
	}
}

// Places of entities that are not in the text have no effect.
func TestWrongPlacesOfMentionsAreIgnored(t *testing.T) {
	t.Parallel()
	in := receive(t)
	var marks []any
	for _, at := range [][2]int{{-1, 3}, {0, -1}, {3, 1 << 40}, {20, 5}, {0, 0}} {
		marks = append(marks, map[string]any{"type": "mention", "offset": at[0], "length": at[1]},
			map[string]any{"type": "bot_command", "offset": at[0], "length": at[1]})
	}
	in.hear(map[string]any{"text": "/new@x", "entities": marks})
	if got := in.until("/new@x"); len(got) != 1 || got[0].Mentioned {
		t.Errorf("%+v", got)
	}
}

// A message in a topic refers to the notice of the topic, and is no reply to the bot that made it.
func TestAMessageInATopicIsNoReply(t *testing.T) {
	t.Parallel()
	in := receive(t)
	in.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: in.Group(1), Thread: "42", Text: "Among us"})
	question := message(map[string]any{"text": "Question", "from": map[string]any{"id": 1, "is_bot": true}})
	in.hear(map[string]any{"text": "Answer", "reply_to_message": question})
	if got := in.until("Answer"); len(got) != 2 || got[0].Mentioned || !got[1].Mentioned {
		t.Errorf("%+v", got)
	}
}

// Notices are not written by a user, but stickers are sent by one. A place that a user shares moves: each step is an
// edit without text.
func TestNoticesAreLeftOut(t *testing.T) {
	t.Parallel()
	in := receive(t)
	in.hear(map[string]any{"new_chat_members": []any{map[string]any{"id": 8, "first_name": "Ben"}}})
	in.hear(map[string]any{"group_chat_created": true})
	in.hear(map[string]any{"sticker": map[string]any{"file_id": "f", "type": "regular"}})
	in.Emit(map[string]any{"edited_message": message(map[string]any{"edit_date": 1700000001,
		"location": map[string]any{"latitude": 52.5, "longitude": 13.4, "live_period": 900}})})
	in.say("Next")
	if got := in.until("Next"); len(got) != 2 || got[0].Text != "" {
		t.Errorf("%+v", got)
	}
}
