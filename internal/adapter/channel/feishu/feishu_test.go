package feishu_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/channel/feishu"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/feishutest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

func open(s *feishutest.Server, secret string) (*feishu.Adapter, error) {
	return feishu.New(feishu.Options{Account: "ada", AppID: feishutest.AppID, AppSecret: secret, API: s.URL})
}

func TestFeishuKeepsTheContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Suite{
		Start: func() channeltest.Platform { return feishutest.Start(feishutest.Options{}) },
		Open: func(p channeltest.Platform) (service.Adapter, error) {
			return open(p.(*feishutest.Server), feishutest.AppSecret)
		},
		Wrong: func(p channeltest.Platform) (service.Adapter, error) {
			return open(p.(*feishutest.Server), "another-secret")
		},
		Secret:  feishutest.AppSecret,
		Threads: true,
		Buttons: true,
	})
}

// inbox collects the events of an adapter that receives until the test ends.
type inbox struct {
	*feishu.Adapter
	mu     sync.Mutex
	events []channel.Event
}

func (i *inbox) all() []channel.Event {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]channel.Event(nil), i.events...)
}

func receive(t *testing.T, s *feishutest.Server) *inbox {
	t.Helper()
	a, err := open(s, feishutest.AppSecret)
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
	return in
}

// one waits for an event.
func (i *inbox) one(t *testing.T, is func(channel.Event) bool) channel.Event {
	t.Helper()
	for range 1000 {
		for _, e := range i.all() {
			if is(e) {
				return e
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no such event: %+v", i.all())
	return channel.Event{}
}

func (i *inbox) text(t *testing.T, text string) channel.Event {
	t.Helper()
	return i.one(t, func(e channel.Event) bool { return e.Text == text })
}

func start(t *testing.T, o feishutest.Options) *feishutest.Server {
	t.Helper()
	s := feishutest.Start(o)
	t.Cleanup(s.Close)
	return s
}

func TestMentionsBecomeNames(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	mention := func(key, id, name string) map[string]any {
		return map[string]any{"key": key, "name": name, "id": map[string]any{"open_id": id}}
	}
	s.SayContent(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1)}, "text",
		map[string]any{"text": "@_user_1 ask @_user_11 and @_user_2, @_all"},
		map[string]any{"mentions": []any{mention("@_user_1", feishutest.BotID, "Cairn"), mention("@_user_2", "8", "Bo"),
			mention("@_user_11", "9", "Cy")}})
	if e := in.text(t, "ask @Cy and @Bo, @all"); !e.Mentioned || !e.Group {
		t.Errorf("%+v", e)
	}
}

func TestPostsBecomeMarkdown(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	s.SayContent(channeltest.UserMessage{User: "7", Name: "Ada"}, "post", map[string]any{"title": "Plan",
		"content": []any{
			[]any{
				map[string]any{"tag": "text", "text": "See "},
				map[string]any{"tag": "a", "text": "page", "href": "https://x.org"},
				map[string]any{"tag": "img", "image_key": "img_1"},
			},
			[]any{map[string]any{"tag": "code_block", "language": "GO", "text": "a < b\n"}},
		}}, nil)
	e := in.text(t, "Plan\nSee [page](https://x.org)\n```go\na < b\n```")
	if len(e.Attachments) != 1 || e.Attachments[0].Ref != e.MessageID+"/image/img_1" {
		t.Errorf("%+v", e)
	}
}

func TestAttachmentsAreRead(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	said := channeltest.UserMessage{User: "7", Name: "Ada"}
	for _, c := range []struct{ kind, fileType, key, member, mime string }{
		{"image", "image", "img_1", "image_key", ""},
		{"file", "file", "file_1", "file_key", "application/pdf"},
		{"audio", "file", "file_2", "file_key", "audio/ogg"},
	} {
		content := map[string]any{c.member: c.key}
		if c.kind == "file" {
			content["file_name"] = "plan.pdf"
		}
		id := s.Attach(said, c.kind, content, c.fileType, c.key, []byte(c.kind))
		e := in.one(t, func(e channel.Event) bool { return e.MessageID == id })
		if len(e.Attachments) != 1 || e.Attachments[0].Type != c.mime {
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
	s.Expire() // the token is renewed, also for files
	last := in.all()[len(in.all())-1].Attachments[0]
	body, err := in.Fetch(t.Context(), last)
	testkit.Must(t, err)
	testkit.Must(t, body.Close())
	if _, err := in.Fetch(t.Context(), channel.Attachment{Ref: "om_1/file/none"}); err == nil {
		t.Error("a missing file was read")
	}
}

func TestRepliesToTheBotMentionIt(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	id, err := in.Send(t.Context(), channel.Place{Chat: s.Group(1)}, channel.Part{Key: "k1", Text: "Question?"})
	testkit.Must(t, err)
	said := channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1)}
	s.SayContent(said, "text", map[string]any{"text": "Answer"}, map[string]any{"parent_id": id, "root_id": id})
	if e := in.text(t, "Answer"); !e.Mentioned || e.Place.Thread != "" {
		t.Errorf("%+v", e)
	}
	other := s.Say(said)
	s.SayContent(said, "text", map[string]any{"text": "Aside"}, map[string]any{"parent_id": other, "root_id": other})
	if e := in.text(t, "Aside"); e.Mentioned {
		t.Errorf("%+v", e)
	}
}

func TestButtonsKeepTheirThread(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1), Thread: "42", Text: "Approve it"})
	at := in.text(t, "Approve it").Place
	_, err := in.Send(t.Context(), at, channel.Part{Key: "k1", Text: "?", Buttons: []channel.Choice{{Label: "Yes",
		Data: "approve 7"}}})
	testkit.Must(t, err)
	s.Press("7", s.Group(1), "approve 7")
	if e := in.text(t, "approve 7"); e.Place != at || !e.Group || e.Sender.Name != "Ada" {
		t.Errorf("%+v", e)
	}
}

// The first message of a topic has no root_id, and later ones name it.
func TestTopicsAreThreads(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	in := receive(t, s)
	said := channeltest.UserMessage{User: "7", Name: "Ada", Chat: s.Group(1)}
	id := s.SayContent(said, "text", map[string]any{"text": "Topic"}, map[string]any{"thread_id": "omt_1"})
	s.SayContent(said, "text", map[string]any{"text": "More"}, map[string]any{"thread_id": "omt_1", "root_id": id})
	first, second := in.text(t, "Topic").Place, in.text(t, "More").Place
	if first.Thread != id || second != first {
		t.Errorf("%+v, %+v", first, second)
	}
}

// Feishu does not state who has recalled a message. A restart does not matter.
func TestARecalledMessageHasItsUser(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	id := s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Hello"})
	a, err := open(s, feishutest.AppSecret)
	testkit.Must(t, err)
	channeltest.First(t, a)
	s.Delete(s.Private("7"), id)
	e := receive(t, s).one(t, func(e channel.Event) bool { return e.Kind == channel.Deleted })
	if e.Sender.ID != "7" || e.Group || e.MessageID != id {
		t.Errorf("%+v", e)
	}
}

func TestNamesNeedAPermission(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	s.Grant("im:message")
	in := receive(t, s)
	testkit.Must(t, in.Check(t.Context()))
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Hello"})
	if e := in.text(t, "Hello"); e.Sender.Name != "7" {
		t.Errorf("%+v", e)
	}
	s.Grant("im:message.p2p_msg:readonly")
	f := fault.From(in.Check(t.Context()))
	if f == nil || f.Code != fault.Misconfigured || !strings.Contains(f.Message, "im:message:send_as_bot") {
		t.Errorf("%v", f)
	}
}

func TestMessagesOfManyFramesAreJoined(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{FrameSize: 100})
	in := receive(t, s)
	long := strings.Repeat("很长。", 2000)
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: long})
	in.text(t, long)
	for range 1000 {
		if s.Open() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the message is not acknowledged")
}

func TestTheServerSetsTheTimeOfPings(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{Ping: 1})
	in := receive(t, s)
	for range 1000 {
		if s.Pings() >= 3 {
			s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Still here"})
			in.text(t, "Still here")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("got %d pings", s.Pings())
}

func TestARefusedConnectionIsOpenedLater(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	s.Shut(true)
	a, err := open(s, feishutest.AppSecret)
	testkit.Must(t, err)
	err = a.Receive(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "514 auth failed") || strings.Contains(err.Error(), "ticket") {
		t.Errorf("%v", err)
	}
	s.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Waiting"})
	s.Shut(false)
	receive(t, s).text(t, "Waiting")
}

func TestAnOldTokenIsRenewed(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	a, err := open(s, feishutest.AppSecret)
	testkit.Must(t, err)
	for i, key := range []string{"k1", "k2", "k3"} {
		id, err := a.Send(t.Context(), channel.Place{Chat: s.Private("7")}, channel.Part{Key: key, Text: key})
		if err != nil || id == "" || len(s.Sent()) != i+1 {
			t.Fatalf("%q, %v, %+v", id, err, s.Sent())
		}
		s.Expire()
	}
}

// The server refuses a card with an image of another server. Cairn makes links of images; here the card fails in spite
// of that, because code is not changed.
func TestRefusedCardsBecomeText(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	a, err := open(s, feishutest.AppSecret)
	testkit.Must(t, err)
	text := "`![cat](https://x.org/cat.png)` <at user_id=\"all\"></at>"
	_, err = a.Send(t.Context(), channel.Place{Chat: s.Private("7")}, channel.Part{Key: "k1", Text: text,
		Buttons: []channel.Choice{{Label: "Yes", Data: "/approve 7"}, {Label: "No", Data: "reject 7"}}})
	testkit.Must(t, err)
	want := strings.Replace(text, "<at", "<\u200bat", 1) + "\nYes: /approve 7\nNo: /reject 7"
	if got := s.Sent(); len(got) != 1 || got[0].Text != want {
		t.Errorf("%+v", got)
	}
}

func TestTheLargestMessagesFit(t *testing.T) {
	t.Parallel()
	s := start(t, feishutest.Options{})
	a, err := open(s, feishutest.AppSecret)
	testkit.Must(t, err)
	for _, piece := range []string{"<", `"`, `\`, "\n", "界"} {
		_, err := a.Send(t.Context(), channel.Place{Chat: s.Private("7")}, channel.Part{Key: piece,
			Text: "." + strings.Repeat(piece, a.Limits().Units-2) + "."})
		if err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
}

func TestMarkdownOfCards(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"**bold** *it* `a<b`":                    "**bold** *it* `a<b`",
		"1 < 2 & 3 > 2":                          "1 &#60; 2 & 3 > 2",
		"<at id=all></at>":                       "&#60;at id=all>&#60;/at>",
		"<script>\nx\n</script>":                 "&#60;script>\nx\n&#60;/script>",
		`a \< b \* c`:                            `a &#60; b \* c`,
		"![cat](https://x.org/c.png) and ![](x)": "[cat](https://x.org/c.png) and [image](x)",
		"```go\nif a < b {\n```\n<b>":            "```go\nif a < b {\n```\n&#60;b>",
		"> said <x>\n\n- a\n- b":                 "> said &#60;x>\n\n- a\n- b",
		"    a < b\n\nc < d":                     "    a < b\n\nc &#60; d",
		"`` a`<b `` <":                           "`` a`<b `` &#60;",
		`end \`:                                  `end \`,
		"价格 < 5":                                 "价格 &#60; 5",
	} {
		if got := feishu.Markdown(source); got != want {
			t.Errorf("%q became %q, want %q", source, got, want)
		}
	}
}

func TestInvalidFramesAreRefused(t *testing.T) {
	t.Parallel()
	f := feishu.Frame{SeqID: 1, LogID: 1 << 60, Service: 7, Method: feishu.Data, Payload: []byte("x"),
		Headers: []feishu.Header{{Key: "type", Value: "event"}, {Key: "sum", Value: "3"}}}
	raw := f.Marshal()
	var got feishu.Frame
	testkit.Must(t, got.Unmarshal(raw))
	if got.SeqID != 1 || got.LogID != 1<<60 || got.Service != 7 || got.Method != feishu.Data || got.Int("sum") != 3 ||
		string(got.Payload) != "x" || got.Get("none") != "" {
		t.Errorf("%+v", got)
	}
	if got.Unmarshal(raw[:len(raw)-3]) == nil {
		t.Error("half a frame is valid")
	}
}
