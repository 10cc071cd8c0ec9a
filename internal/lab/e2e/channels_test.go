package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"cairn/internal/app/config"
	domainchannel "cairn/internal/domain/channel"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/service/channel"
	"cairn/internal/testkit"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// chats is a Cairn with two accounts, their platforms, and a gateway that serves them.
type chats struct {
	*apptest.Bundle
	telegram *telegramtest.Server
	program  *program
	accounts []channel.Account
	signer   *standardwebhooks.Webhook
	webhooks *httptest.Server
	stop     func()
}

// program is a program behind a webhook.
type program struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]string // messages by webhook-id
	all  []string
	down int // requests that get 500 after their effect
}

func (p *program) receive(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	signer, _ := standardwebhooks.NewWebhook(secret)
	if err := signer.Verify(raw, r.Header); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct{ Conversation, Text string }
	_ = json.Unmarshal(raw, &m)
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if _, again := p.seen[id]; !again {
		p.all = append(p.all, m.Conversation+": "+m.Text)
	}
	p.seen[id] = m.Text
	if p.down > 0 {
		p.down--
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (p *program) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.all...)
}

func openChats(t *testing.T) *chats { return openChatsWith(t, "coalesce: 0s") }

// openChatsWith opens accounts whose profile has the given members.
func openChatsWith(t *testing.T, profile string, change ...func(*config.Config)) *chats {
	t.Helper()
	c := &chats{telegram: telegramtest.Start(), program: &program{seen: map[string]string{}}}
	t.Cleanup(c.telegram.Close)
	c.program.Server = httptest.NewServer(http.HandlerFunc(c.program.receive))
	t.Cleanup(c.program.Close)
	file := filepath.Join(t.TempDir(), "channels.yaml")
	testkit.Must(t, os.WriteFile(file, []byte(fmt.Sprintf("accounts:\n"+
		"  ada: {platform: telegram, token: %q, api: %q, access: pairing, profile: test}\n"+
		"  desk: {platform: webhook, secret: %q, url: %q, access: open, profile: test}\n"+
		"profiles:\n  test: {%s}\n", telegramtest.Token, c.telegram.URL, secret, c.program.URL, profile)), 0o600))
	c.Bundle = apptest.OpenIdle(t, append(change, func(o *config.Config) { o.Channels = file })...)
	c.Start()
	c.Model.On(echo)
	var err error
	c.signer, err = standardwebhooks.NewWebhook(secret)
	testkit.Must(t, err)
	c.accounts, err = c.App.OpenAccounts(t.Context())
	testkit.Must(t, err)
	c.webhooks = httptest.NewServer(c.App.WebhookHandler(c.accounts))
	t.Cleanup(c.webhooks.Close)
	c.serve()
	t.Cleanup(func() { c.stop() })
	return c
}

// echo makes the model repeat the last line of the last message.
var echo = openaitest.Rule{Stage: "turn", ReplyFunc: func(r openaitest.Call) string {
	said := r.Messages[len(r.Messages)-1].Content
	return "You said **" + said[strings.LastIndex(said, "\n")+1:] + "**"
}}

// serve starts a gateway; stop ends it.
func (c *chats) serve() {
	ctx, cancel := context.WithCancel(c.T.Context())
	done := make(chan error, 1)
	go func() { done <- c.App.ServeAccounts(ctx, c.accounts) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.T.Error(err)
		}
	})
}

// post sends an event of the program.
func (c *chats) post(id, conversation, user, text string) int {
	c.T.Helper()
	body, err := json.Marshal(map[string]any{"conversation": conversation, "text": text,
		"sender": map[string]string{"id": user, "name": user}})
	testkit.Must(c.T, err)
	return c.raw(body, c.signed(id, body))
}

func (c *chats) raw(body []byte, header map[string]string) int {
	c.T.Helper()
	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.webhooks.URL+"/channels/desk/events",
		bytes.NewReader(body))
	testkit.Must(c.T, err)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	testkit.Must(c.T, err)
	res.Body.Close()
	return res.StatusCode
}

// chat returns the messages that a chat of Telegram has got.
func (c *chats) chat(id string) (out []string) {
	for _, m := range c.telegram.Sent() {
		if m.Chat == id {
			out = append(out, m.Text)
		}
	}
	return out
}

// say makes a user of Telegram write in the private chat.
func (c *chats) say(user int64, name, text string) {
	c.telegram.Say(channeltest.UserMessage{User: strconv.FormatInt(user, 10), Name: name, Text: text})
}

// sayIn makes a user of Telegram mention the bot in a group.
func (c *chats) sayIn(group string, user int64, name, text string) {
	c.telegram.Say(
		channeltest.UserMessage{User: strconv.FormatInt(user, 10), Name: name, Chat: group, Text: text, Mention: true},
	)
}

// pair makes a user of Telegram known.
func (c *chats) pair(user int64, name string) {
	c.T.Helper()
	c.say(user, name, "Hello?")
	chat := strconv.FormatInt(user, 10)
	testkit.Eventually(c.T, "the user has a code", func() bool { return len(c.chat(chat)) == 1 })
	_, rest, _ := strings.Cut(c.chat(chat)[0], "approve ")
	code, _, _ := strings.Cut(rest, " ")
	_, err := c.App.Channels.Approve(c.T.Context(), code, "")
	testkit.Must(c.T, err)
}

func TestAPersonTalksOverTelegram(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.sayIn("-1001", 9, "Eve", "What do you know about Ada?") // a group that is not served
	c.say(7, "Ada", "My dog is called Bello.")
	testkit.Eventually(t, "the reply arrives", func() bool { return len(c.chat("7")) == 2 })
	if got := c.chat("7")[1]; got != "You said <b>My dog is called Bello.</b>" {
		t.Errorf("the reply is %q", got)
	}
	c.say(7, "Ada", "/whoami")
	testkit.Eventually(t, "the command is answered", func() bool { return len(c.chat("7")) == 3 })
	if got := c.chat("7")[2]; !strings.Contains(got, "person/ada/7") {
		t.Errorf("the command's reply is %q", got)
	}
	c.say(7, "Ada", "/new")
	c.say(7, "Ada", "And now?")
	testkit.Eventually(t, "the new conversation is answered", func() bool { return len(c.chat("7")) == 5 })
	conversations := c.count("select count(*) from cairn.conversations where external_id like 'ada/7%'")
	if conversations != 2 {
		t.Errorf("%d conversations", conversations)
	}
	if got := c.chat("-1001"); len(got) != 0 {
		t.Errorf("the group got %q", got)
	}
	var route int64
	testkit.Must(t, c.Admin().QueryRow(t.Context(), "select id from cairn.channel_routes").Scan(&route))
	ws, _, _, err := c.App.Store.Channels().Find(t.Context(), "ada", channel.KindUser, "7")
	testkit.Must(t, err)
	c.RecordEnded(contract.DeliverID(ws.Key, route), "Deliver/completed")
	if n := c.count("select count(*) from cairn.channel_events where body <> '{}'"); n != 0 {
		t.Errorf("%d handled events keep their text", n)
	}
	testkit.Eventually(t, "the texts of sent deliveries are deleted", func() bool {
		return c.count("select count(*) from cairn.deliveries where state <> 'sent' or body <> '{}'") == 0
	})
}

func (c *chats) count(sql string) (n int) {
	c.T.Helper()
	testkit.Must(c.T, c.Admin().QueryRow(c.T.Context(), sql).Scan(&n))
	return n
}

// An unknown user gets one code, and the text is not processed. An account has three open codes at most.
func TestAnUnknownUserGetsOneCode(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	for range 3 {
		c.say(8, "Ben", "Let me in")
	}
	testkit.Eventually(t, "the user has a code", func() bool { return len(c.chat("8")) == 1 })
	for user := int64(20); user < 25; user++ {
		c.say(user, "Spam", "请让我进来")
	}
	testkit.Eventually(t, "all messages are received", func() bool {
		return c.count("select count(*) from cairn.channel_accounts where name = 'ada' and cursor = '9'") == 1
	})
	if n := len(c.telegram.Sent()); n != 3 {
		t.Errorf("%d users have a code", n)
	}
	_, rest, _ := strings.Cut(c.chat("8")[0], "approve ")
	code, _, _ := strings.Cut(rest, " ")
	if len(code) != 8 || !strings.Contains(c.telegram.Sent()[1].Text, "管理员") {
		t.Errorf("%+v", c.telegram.Sent())
	}
	for wrong, want := range map[string]fault.Code{"AAAAAAAA": fault.NotFound, "": fault.NotFound} {
		if _, err := c.App.Channels.Approve(t.Context(), wrong, ""); fault.CodeOf(err) != want {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	first, err := c.App.Channels.Approve(t.Context(), strings.ToLower(code), "ben")
	testkit.Must(t, err)
	if first.Role != channel.RoleAdmin || first.Workspace != "ben" || first.User != "8" {
		t.Errorf("%+v", first)
	}
	if _, err := c.App.Channels.Approve(t.Context(), code, ""); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a code is used twice: %v", err)
	}
	testkit.Must(t, c.App.Channels.SetRole(t.Context(), "ada", channel.KindUser, "8", domainchannel.RoleBlocked))
	c.say(8, "Ben", "Hello")
	c.pair(9, "Cem")
	if n := c.count("select count(*) from cairn.channel_events"); n != 0 || len(c.Model.Requests()) != 0 {
		t.Errorf("%d events of unknown and blocked users, %d model calls", n, len(c.Model.Requests()))
	}
}

// Messages are answered once and in order while the gateway is stopped, sends fail and updates repeat.
func TestMessagesAreAnsweredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	const messages = 6
	for i := range messages {
		c.say(7, "Ada", fmt.Sprintf("m%d", i))
		switch i {
		case 1:
			c.telegram.Fail(channeltest.Fault{Kind: channeltest.Busy, RetryAfter: time.Second},
				channeltest.Fault{Kind: channeltest.Broken})
		case 3:
			c.stop()
			c.serve()
		}
	}
	testkit.Eventually(t, "all messages are answered", func() bool { return len(c.chat("7")) >= 1+messages })
	time.Sleep(2 * time.Second) // nothing else may follow
	got := c.chat("7")[1:]
	for i, text := range got {
		if want := fmt.Sprintf("You said <b>m%d</b>", i); text != want {
			t.Errorf("message %d is %q, want %q; all: %q", i, text, want, got)
		}
	}
	if len(got) != messages || len(c.Model.Requests()) != messages {
		t.Errorf("%d replies, %d model calls", len(got), len(c.Model.Requests()))
	}
}

// A chat that is gone stops only its own deliveries.
func TestAChatThatIsGone(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.pair(8, "Ben")
	c.telegram.Fail(channeltest.Fault{Kind: channeltest.Gone})
	c.say(7, "Ada", "Hello")
	testkit.Eventually(t, "the delivery is dead", func() bool {
		return c.count("select count(*) from cairn.deliveries where state = 'dead' and reason like '%blocked%'") == 1
	})
	c.say(8, "Ben", "Hello")
	testkit.Eventually(t, "another chat is answered", func() bool { return len(c.chat("8")) == 2 })
	var ws, id int64
	testkit.Must(t, c.Admin().QueryRow(t.Context(),
		"select workspace_id, id from cairn.deliveries where state = 'dead'").Scan(&ws, &id))
	testkit.Must(t, c.App.Channels.Retry(t.Context(), ws, id))
	testkit.Eventually(t, "the delivery is sent after a retry", func() bool { return len(c.chat("7")) == 2 })
}

// A message that the platform never accepts ends its delivery, and the chat goes on.
func TestARefusedMessageDoesNotPauseTheChat(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.telegram.Fail(channeltest.Fault{Kind: channeltest.Refused})
	c.say(7, "Ada", "Hello")
	testkit.Eventually(t, "the delivery is dead", func() bool {
		return c.count("select count(*) from cairn.deliveries where state = 'dead' and reason like '%BUTTON%'") == 1
	})
	if n := c.count("select count(*) from cairn.channel_routes where paused <> ''"); n != 0 {
		t.Errorf("%d chats are paused", n)
	}
}

func TestAProgramTalksOverAWebhook(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.program.mu.Lock()
	c.program.down = 1
	c.program.mu.Unlock()
	for range 3 { // a platform sends events again
		if status := c.post("e1", "room", "ada", "Hello"); status != http.StatusNoContent {
			t.Fatalf("status %d", status)
		}
	}
	want := "room: You said **Hello**"
	testkit.Eventually(t, "the reply arrives", func() bool { return len(c.program.got()) == 1 })
	time.Sleep(2 * time.Second) // nothing else may follow
	if got := c.program.got(); len(got) != 1 || got[0] != want || len(c.Model.Requests()) != 1 {
		t.Errorf("%q, %d model calls", got, len(c.Model.Requests()))
	}
	long := strings.Repeat("word ", 8000)
	c.post("e2", "room", "ada", long)
	testkit.Eventually(t, "a long message is refused", func() bool { return len(c.program.got()) == 2 })
	if got := c.program.got()[1]; !strings.Contains(got, "could not accept") {
		t.Errorf("%q", got)
	}
}

func TestWebhooksRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	signed := func(body string, at time.Time) map[string]string {
		signer, err := standardwebhooks.NewWebhook(secret)
		testkit.Must(t, err)
		signature, err := signer.Sign("e1", at, []byte(body))
		testkit.Must(t, err)
		return map[string]string{"webhook-id": "e1", "webhook-timestamp": strconv.FormatInt(at.Unix(), 10),
			"webhook-signature": signature}
	}
	valid := `{"conversation":"room","text":"Hi","sender":{"id":"ada"}}`
	long := `{"conversation":"` + strings.Repeat("r", 500) + `","sender":{"id":"a"}}`
	thread := `{"conversation":"` + strings.Repeat("r", 99) + `","thread":"` + strings.Repeat("t", 99) +
		`","sender":{"id":"a"}}`
	name := `{"conversation":"r","sender":{"id":"a","name":"` + strings.Repeat("n", 500) + `"}}`
	forged := signed(valid, time.Now())
	forged["webhook-signature"] = "v1," + strings.Repeat("A", 44)
	for what, r := range map[string]struct {
		body   string
		header map[string]string
		want   int
	}{
		"unsigned": {valid, nil, 401}, "forged": {valid, forged, 401},
		"old":             {valid, signed(valid, time.Now().Add(-time.Hour)), 401},
		"not JSON":        {"{", signed("{", time.Now()), 400},
		"no sender":       {`{"conversation":"r"}`, signed(`{"conversation":"r"}`, time.Now()), 400},
		"long ID":         {long, signed(long, time.Now()), 400},
		"large":           {strings.Repeat("x", 2<<20), signed("x", time.Now()), 413},
		"long webhook-id": {valid, c.signed(strings.Repeat("e", 500), []byte(valid)), 400},
		"long thread":     {thread, signed(thread, time.Now()), 400},
		"long name":       {name, signed(name, time.Now()), 400},
	} {
		if status := c.raw([]byte(r.body), r.header); status != r.want {
			t.Errorf("%s: status %d, want %d", what, status, r.want)
		}
	}
	if n := c.count("select count(*) from cairn.channel_events"); n != 0 {
		t.Errorf("%d events are stored", n)
	}
}

// An account whose administrator was blocked does not make the next user one.
func TestAnAccountHasOneFirstUser(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	testkit.Must(t, c.App.Channels.SetRole(t.Context(), "ada", channel.KindUser, "7", domainchannel.RoleBlocked))
	c.pair(8, "Eve")
	_, role, _, err := c.App.Store.Channels().Find(t.Context(), "ada", channel.KindUser, "8")
	testkit.Must(t, err)
	if role != channel.RoleUser {
		t.Errorf("the role is %s", role)
	}
}
