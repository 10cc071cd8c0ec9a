package slack_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/channel/slack"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/slacktest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// socketOptions are the options of an account that uses Socket Mode.
func socketOptions(p channeltest.Platform) slack.Options {
	return slack.Options{Account: "ada", BotToken: slacktest.BotToken, AppToken: slacktest.AppToken,
		API: p.(interface{ API() string }).API(), Redial: 10 * time.Millisecond}
}

// hookOptions are the options of an account that gets events by HTTP.
func hookOptions(p channeltest.Platform) slack.Options {
	o := socketOptions(p)
	o.AppToken, o.SigningSecret = "", slacktest.SigningSecret
	return o
}

func suite(start func() channeltest.Platform, options func(channeltest.Platform) slack.Options) channeltest.Suite {
	return channeltest.Suite{
		Start: start,
		Open:  func(p channeltest.Platform) (service.Adapter, error) { return slack.New(options(p)) },
		Wrong: func(p channeltest.Platform) (service.Adapter, error) {
			o := options(p)
			o.BotToken = "xoxb-1-wrong"
			return slack.New(o)
		},
		Secret: slacktest.BotToken, Threads: true, Buttons: true,
	}
}

func TestSocketMode(t *testing.T) {
	t.Parallel()
	start := func() channeltest.Platform { return slacktest.Start(slacktest.Options{}) }
	channeltest.Run(t, suite(start, socketOptions))
}

func TestEventsAPI(t *testing.T) {
	t.Parallel()
	start := func() channeltest.Platform { return slacktest.StartHTTP(slacktest.Options{}) }
	channeltest.Run(t, suite(start, hookOptions))
}

// desk is a fake with an adapter.
type desk struct {
	*slacktest.Server
	*slack.Adapter
	t *testing.T

	mu     sync.Mutex
	events []channel.Event
}

// open starts a fake and an adapter. Change may change the options of the adapter.
func open(t *testing.T, o slacktest.Options, change func(*slack.Options)) *desk {
	t.Helper()
	d := &desk{Server: slacktest.Start(o), t: t}
	t.Cleanup(d.Close)
	options := socketOptions(d.Server)
	if change != nil {
		change(&options)
	}
	var err error
	d.Adapter, err = slack.New(options)
	testkit.Must(t, err)
	return d
}

// receive receives until the test ends.
func (d *desk) receive() {
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Receive(ctx, "", d.accept); ctx.Err() == nil {
			d.t.Errorf("Receive ended: %v", err)
		}
	})
	d.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (d *desk) accept(_ context.Context, events []channel.Event, _ string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, events...)
	return nil
}

// all returns the events after the last one has the text.
func (d *desk) all(last string) []channel.Event {
	d.t.Helper()
	has := func(e channel.Event) bool { return e.Text == last }
	testkit.Eventually(d.t, "the event "+last, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.ContainsFunc(d.events, has)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

// place is the private chat of user 7.
func (d *desk) place() channel.Place { return channel.Place{Account: "ada", Chat: d.Private("7")} }

func ada(text string) channeltest.UserMessage {
	return channeltest.UserMessage{User: "7", Name: "Ada", Text: text}
}

func TestSlackAsksForAnotherConnection(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	testkit.Eventually(t, "the first connection", func() bool { return d.Opened() == 1 })
	var want, got []string
	for _, text := range []string{"a", "b", "c", "d", "e", "f"} {
		want = append(want, text)
		d.Say(ada(text))
		if text == "b" || text == "d" {
			d.Warn()
		}
	}
	for _, e := range d.all("f") {
		got = append(got, e.Text)
	}
	if slices.Sort(got); !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%q", got)
	}
	testkit.Eventually(t, "the second connection", func() bool { return d.Opened() >= 2 })
}

func TestAConnectionWithoutPingsIsReplaced(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{Heartbeat: time.Hour},
		func(o *slack.Options) { o.Silence = 100 * time.Millisecond })
	d.receive()
	testkit.Eventually(t, "the third connection", func() bool { return d.Opened() >= 3 })
}

func TestARefusedConnectionEndsReceive(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, func(o *slack.Options) { o.AppToken = "xapp-1-wrong" })
	err := d.Receive(t.Context(), "", d.accept)
	if err == nil || strings.Contains(err.Error(), "xapp-1-wrong") {
		t.Errorf("%v", err)
	}
}

func TestOtherEventsAreAcknowledged(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	d.Emit(map[string]any{"type": "event_of_the_future"})
	d.Emit(map[string]any{"type": "channel_created", "channel": map[string]any{"id": "C9", "name": "new"}})
	d.Emit(map[string]any{"type": "message", "subtype": "channel_join", "user": "7", "channel": "C1", "ts": "1.000001",
		"channel_type": "channel", "text": "<@7> has joined the channel"})
	d.Say(ada("Hello"))
	if got := d.all("Hello"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	testkit.Eventually(t, "the acknowledgements", func() bool { return d.Pending() == 0 })
}

func TestMarkupOfUsersIsUndone(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	d.Say(channeltest.UserMessage{User: "8", Name: "Bob & Co", Text: "first"})
	d.all("first")
	for markup, want := range map[string]string{
		"a &lt;b&gt; &amp;amp; c":                          "a <b> &amp; c",
		"<@8>: see <#C1|general> and <#C2>":                "@Bob & Co: see #general and #C2",
		"<@U404|gone> <@U405>":                             "@gone @U405",
		"<!here> <!channel|channel> <!subteam^S1|@team>":   "@here @channel @team",
		"<!date^1392734382^{date}|18 February>":            "18 February",
		"<https://example.org/?a=1&amp;b=2>":               "https://example.org/?a=1&b=2",
		"<http://example.org|example.org>":                 "example.org",
		"<https://example.org|the page>":                   "[the page](https://example.org)",
		"<mailto:a@example.org|a@example.org>":             "a@example.org",
		"Hey <@" + slacktest.BotUser + ">, now":            "Hey now",
		"<@" + slacktest.BotUser + "|cairn> :wave: two":    ":wave: two",
		"&lt;@" + slacktest.BotUser + "&gt; is not a name": "<@" + slacktest.BotUser + "> is not a name",
		"<|empty>": "<|empty>",
	} {
		d.Write(ada(""), markup)
		events := d.all(want)
		i := slices.IndexFunc(events, func(e channel.Event) bool { return e.Text == want })
		if events[i].Mentioned != strings.Contains(markup, "<@"+slacktest.BotUser) {
			t.Errorf("%q: %+v", markup, events[i])
		}
	}
}

func TestAMentionHasOneKey(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	said := ada("Hi")
	said.Chat, said.Mention = d.Group(1), true
	d.Say(said)
	d.Say(ada("Last"))
	keys, n := map[string]bool{}, 0
	for _, e := range d.all("Last") {
		if e.Text == "Hi" && e.Mentioned && e.Group {
			keys[e.Key] = true
			n++
		}
	}
	if n != 2 || len(keys) != 1 {
		t.Errorf("%d events with the keys %v", n, keys)
	}
}

func TestOnlyChangesOfUsersAreEvents(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	id, err := d.Send(t.Context(), d.place(), channel.Part{Key: "k1", Text: "From the bot"})
	testkit.Must(t, err)
	testkit.Must(t, d.Adapter.Edit(t.Context(), d.place(), id, "Changed by the bot"))
	link := d.Say(ada("https://example.org"))
	d.Preview(d.Private("7"), link)
	d.Say(channeltest.UserMessage{User: "7", Name: "Ada", Thread: link, Text: "Reply"})
	d.Server.Delete(d.Private("7"), link)
	d.Say(ada("Last"))
	got := d.all("Last")
	if len(got) != 4 || got[1].Text != "Reply" || got[1].Place.Thread != link || got[2].Kind != channel.Deleted ||
		got[2].MessageID != link || got[2].Sender.ID != "7" || got[2].Place.Thread != "" {
		t.Errorf("%+v", got)
	}
}

func TestRepliesToTheBotMentionIt(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	id, err := d.Send(t.Context(), channel.Place{Chat: d.Group(1)}, channel.Part{Key: "k1", Text: "Question"})
	testkit.Must(t, err)
	d.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: d.Group(1), Thread: id, Text: "Answer"})
	if got := d.all("Answer"); !got[0].Mentioned || got[0].Place.Thread != id {
		t.Errorf("%+v", got)
	}
}

func TestFilesAreRead(t *testing.T) {
	t.Parallel()
	d := open(t, slacktest.Options{}, nil)
	d.receive()
	content := strings.Repeat("line\n", 100_000)
	d.Share(ada("Look"), slacktest.File{Name: "a b.txt", Type: "text/plain", Content: []byte(content)},
		slacktest.File{Name: "doc", Type: "text/plain", External: true})
	got := d.all("Look")[0].Attachments
	if len(got) != 2 || got[0].Name != "a b.txt" || got[0].Type != "text/plain" || got[0].Size != int64(len(content)) {
		t.Fatalf("%+v", got)
	}
	f, err := d.Fetch(t.Context(), got[0])
	testkit.Must(t, err)
	read, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || string(read) != content {
		t.Errorf("read %d bytes, %v", len(read), err)
	}
	f, err = d.Fetch(t.Context(), got[0]) // the caller may stop at its limit
	testkit.Must(t, err)
	if _, err = io.ReadFull(f, make([]byte, 10)); err != nil || f.Close() != nil {
		t.Errorf("%v", err)
	}
	for _, at := range []channel.Attachment{got[1], {Ref: "F404"}} {
		if _, err := d.Fetch(t.Context(), at); err == nil || strings.Contains(err.Error(), slacktest.BotToken) {
			t.Errorf("%+v: %v", at, err)
		}
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fake   slacktest.Options
		change func(*slack.Options)
		want   []string
		not    string
	}{
		"scopes": {slacktest.Options{Scopes: "chat:write, im:history,users:read,channels:history"}, nil,
			[]string{"files:read", "groups:history"}, "chat:write"},
		"app token": {slacktest.Options{}, func(o *slack.Options) { o.AppToken = "xapp-1-wrong" },
			[]string{"app_token", "connections:write"}, "xapp-1-wrong"},
		"bot token": {slacktest.Options{}, func(o *slack.Options) { o.BotToken = "xoxb-1-wrong" },
			[]string{"bot_token", "OAuth & Permissions"}, "xoxb-1-wrong"},
	} {
		err := open(t, c.fake, c.change).Check(t.Context())
		f := fault.From(err)
		text := f.Error() + " " + f.Hint
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", name, text, want)
			}
		}
		if f.Code != fault.Misconfigured || strings.Contains(text, c.not) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
