package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	domainchannel "cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/scheduled"
	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/channel"
	"cairn/internal/service/chatcommand"
	"cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// last waits until a chat of Telegram has got n messages and returns the last one.
func (c *chats) last(chat string, n int) channeltest.Message {
	c.T.Helper()
	var all []channeltest.Message
	testkit.Eventually(c.T, fmt.Sprintf("chat %s has %d messages", chat, n), func() bool {
		all = nil
		for _, m := range c.telegram.Sent() {
			if m.Chat == chat {
				all = append(all, m)
			}
		}
		return len(all) >= n
	})
	return all[n-1]
}

// lastRequest returns the texts of the latest request to the model.
func (c *chats) lastRequest() string {
	all := c.Model.Requests()
	raw, err := json.Marshal(all[len(all)-1].Messages)
	testkit.Must(c.T, err)
	return string(raw)
}

// A group has a workspace of its own. Messages that do not mention the bot are context, and are not answered.
func TestAGroupHasAWorkspaceOfItsOwn(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	group := c.telegram.Group(1)
	c.sayIn(group, 9, "Eve", "Serve us") // no administrator
	// before the group is served
	c.telegram.Say(channeltest.UserMessage{User: "7", Name: "Ada", Chat: group, Text: "Early"})
	c.sayIn(group, 7, "Ada", "What is new?")
	if got := c.last(group, 1).Text; got != "You said <b>Ada: What is new?</b>" {
		t.Errorf("the reply is %q", got)
	}
	c.telegram.Say(channeltest.UserMessage{User: "9", Name: "Eve", Chat: group, Text: "The party is on Friday."})
	c.sayIn(group, 9, "Eve", "When is it?")
	if got := c.last(group, 2).Text; got != "You said <b>Eve: When is it?</b>" {
		t.Errorf("the reply is %q", got)
	}
	if got := c.lastRequest(); !strings.Contains(got, "Eve: The party is on Friday.") ||
		strings.Contains(got, "Early") {
		t.Errorf("the model read %s", got)
	}
	c.say(7, "Ada", "And here?")
	c.last("7", 2)
	if got := c.lastRequest(); strings.Contains(got, "party") {
		t.Errorf("a private chat read messages of the group: %s", got)
	}
	testkit.Must(t, c.App.Channels.SetRole(t.Context(), "ada", channel.KindGroup, group, domainchannel.RoleBlocked))
	before := len(c.Model.Requests())
	c.sayIn(group, 7, "Ada", "Are you there?")
	c.say(7, "Ada", "Done")
	c.last("7", 3)
	if got := len(c.Model.Requests()) - before; got != 1 {
		t.Errorf("%d model calls with a blocked group", got)
	}
}

// Messages that follow each other are one turn, as the last edits left them.
func TestABurstIsOneTurn(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 1s")
	c.pair(7, "Ada")
	c.say(7, "Ada", "First line")
	id := c.telegram.Say(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Secand line"})
	c.telegram.Edit("7", id, "Second line")
	c.say(7, "Ada", "Third line")
	c.last("7", 2)
	time.Sleep(2 * time.Second) // nothing else may follow
	if n := len(c.Model.Requests()); n != 1 || len(c.chat("7")) != 2 {
		t.Errorf("%d model calls, %d messages", n, len(c.chat("7")))
	}
	got := c.lastRequest()
	for _, want := range []string{"First line", "Second line", "Third line"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.Contains(got, "Secand") {
		t.Errorf("the text before the edit is in %s", got)
	}
	c.telegram.Edit("7", id, "Second verse")
	c.say(7, "Ada", "What did I change?")
	c.last("7", 3)
	if got := c.lastRequest(); !strings.Contains(got, "Second verse") {
		t.Errorf("a later edit is not in %s", got)
	}
}

// A deleted message is not in later prompts.
func TestADeletedMessageIsWithdrawn(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.post("e1", "room", "ada", "My PIN is 4711")
	testkit.Eventually(t, "the reply arrives", func() bool { return len(c.program.got()) == 1 })
	c.event("e2", map[string]any{"type": "deleted", "conversation": "room", "message_id": "e1",
		"sender": map[string]string{"id": "ada"}})
	testkit.Eventually(t, "the text is gone", func() bool {
		return c.count("select count(*) from cairn.messages where content like '%My PIN%' and role = 'user'") == 0
	})
	c.post("e3", "room", "ada", "And now?")
	testkit.Eventually(t, "the reply arrives", func() bool { return len(c.program.got()) == 2 })
	if got := c.lastRequest(); strings.Contains(got, `"My PIN is 4711"`) {
		t.Errorf("the deleted message is in %s", got)
	}
}

// With busy: redirect, a message cancels the reply in progress, and one reply answers both.
func TestAMessageRedirectsTheReplyInProgress(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s, busy: redirect")
	testkit.Must(t, c.Model.Script(openaitest.Script{Rules: []openaitest.Rule{
		{Stage: "turn", Match: "Book a flight", Times: 1, Barrier: "flight", Reply: "Booked."}, echo}}))
	defer c.Model.Release("flight")
	c.pair(7, "Ada")
	c.say(7, "Ada", "Book a flight to Rome")
	testkit.Eventually(t, "the model is asked", func() bool { return len(c.Model.Requests()) == 1 })
	c.say(7, "Ada", "No, to Oslo")
	if got := c.last("7", 2).Text; got != "You said <b>No, to Oslo</b>" {
		t.Errorf("the reply is %q", got)
	}
	if got := c.lastRequest(); !strings.Contains(got, "Book a flight to Rome") {
		t.Errorf("the earlier message is not in %s", got)
	}
	c.say(7, "Ada", "Thanks")
	if got := c.last("7", 3).Text; got != "You said <b>Thanks</b>" {
		t.Errorf("the next message is %q", got)
	}
}

// A profile takes tools away. It cannot name one that does not exist.
func TestAProfileDeniesTools(t *testing.T) {
	t.Parallel()
	c := openChatsWith(t, "coalesce: 0s, tools: {deny: [skill_save, memory_save]}")
	c.pair(7, "Ada")
	c.say(7, "Ada", "Hello")
	c.last("7", 2)
	all := c.Model.Requests()
	var offered []string
	for _, tool := range all[len(all)-1].Tools {
		offered = append(offered, tool.Name)
	}
	if slices.Contains(offered, "skill_save") || slices.Contains(offered, "memory_save") ||
		!slices.Contains(offered, "memory_search") {
		t.Errorf("the model gets %q", offered)
	}
	file := filepath.Join(t.TempDir(), "channels.yaml")
	testkit.Must(t, os.WriteFile(file, []byte("accounts:\n  ada: {platform: telegram, token: \"1:x\", profile: p}\n"+
		"profiles:\n  p: {tools: {deny: [execute_shel]}}\n"), 0o600))
	c.App.Config.Channels = file
	if _, err := c.App.ReadAccounts(); err == nil || !strings.Contains(err.Error(), `unknown tool: "execute_shel"`) ||
		!strings.Contains(fault.From(err).Hint, "memory_search") {
		t.Errorf("%v", err)
	}
}

// event sends an event of the program.
func (c *chats) event(id string, body map[string]any) {
	c.T.Helper()
	raw, err := json.Marshal(body)
	testkit.Must(c.T, err)
	if status := c.raw(raw, c.signed(id, raw)); status != http.StatusNoContent {
		c.T.Fatalf("status %d", status)
	}
}

// Replies of scheduled tasks come to the home chat once, after the quiet hours. Direct replies do not wait.
func TestAScheduledReplyComesToTheHomeChat(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.say(7, "Ada", "/home")
	c.last("7", 2)
	ws, _, _, err := c.App.Store.Channels().Find(t.Context(), "ada", channel.KindUser, "7")
	testkit.Must(t, err)
	now := time.Now().UTC()
	c.change(ws.ID, map[string]any{"quiet_hours": map[string]string{"from": now.Add(-2 * time.Hour).Format("15:04"),
		"to": now.Add(2 * time.Hour).Format("15:04")}})
	_, err = c.App.Schedules.Add(t.Context(), ws.ID, scheduled.Draft{Name: "report", Cron: "@daily", Prompt: "Report!"})
	testkit.Must(t, err)
	_, err = c.App.Schedules.Add(t.Context(), ws.ID, scheduled.Draft{Name: "lost", Cron: "@daily", Prompt: "Report!",
		To: "ada/99"})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a chat that does not exist: %v", err)
	}
	_, err = c.App.Schedules.Trigger(t.Context(), ws.ID, ws.Key, "report", "")
	testkit.Must(t, err)
	testkit.Eventually(t, "the reply waits", func() bool {
		return c.count("select count(*) from cairn.deliveries where waits and state = 'ready'") == 1
	})
	c.stop()
	c.serve()
	c.say(7, "Ada", "Hello")
	if got := c.last("7", 3).Text; got != "You said <b>Hello</b>" {
		t.Errorf("in quiet hours came %q", got)
	}
	c.change(ws.ID, map[string]any{"quiet_hours": map[string]string{"from": "", "to": ""}})
	c.hurry()
	if got := c.last("7", 4).Text; got != "You said <b>Report!</b>" {
		t.Errorf("after quiet hours came %q", got)
	}
	time.Sleep(time.Second) // nothing else may follow
	if n := len(c.chat("7")); n != 4 {
		t.Errorf("%d messages", n)
	}
}

// hurry makes the tasks of the relay due.
func (c *chats) hurry() {
	c.T.Helper()
	_, err := c.Admin().Exec(c.T.Context(), "update cairn.outbox set due_at = now()")
	testkit.Must(c.T, err)
}

func (c *chats) change(ws int64, patch map[string]any) {
	c.T.Helper()
	raw, err := json.Marshal(patch)
	testkit.Must(c.T, err)
	_, err = c.App.Workspaces.ChangeSettings(c.T.Context(), ws, raw)
	testkit.Must(c.T, err)
}

// A change that waits for approval comes to the home chat with buttons. Two presses approve it once.
func TestAnApprovalComesToTheHomeChat(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.say(7, "Ada", "/home")
	c.last("7", 2)
	ws, _, _, err := c.App.Store.Channels().Find(t.Context(), "ada", channel.KindUser, "7")
	testkit.Must(t, err)
	c.change(ws.ID, map[string]any{"write_approval": map[string]string{"memory": "all"}})
	w, err := c.App.Memory.Save(t.Context(), agent.Actor{Workspace: ws.ID, Origin: agent.OriginAgent, Op: "test/1"},
		memory.SaveArgs{Store: "profile", Content: "Ada lives in Rome."})
	testkit.Must(t, err)
	m := c.last("7", 3)
	want := fmt.Sprintf("approve m%d", w.Pending)
	if !strings.Contains(m.Text, "Ada lives in Rome") || len(m.Buttons) != 2 || m.Buttons[0].Data != want {
		t.Fatalf("%+v", m)
	}
	c.telegram.Press("7", "7", want)
	if got := c.last("7", 4).Text; got != "Approved." {
		t.Errorf("the first press: %q", got)
	}
	c.telegram.Press("7", "7", want)
	if got := c.last("7", 5).Text; !strings.Contains(got, "decided before") {
		t.Errorf("the second press: %q", got)
	}
	c.say(7, "Ada", "/memory")
	if got := c.last("7", 6).Text; strings.Count(got, "Rome") != 1 {
		t.Errorf("%q", got)
	}
}

// A user of two platforms has one workspace after /link.
func TestLinking(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.say(7, "Ada", "/link")
	_, code, _ := strings.Cut(c.last("7", 2).Text, "/link ")
	c.post("e1", "room", "adas-laptop", "/link "+strings.ToLower(code))
	c.post("e2", "room", "adas-laptop", "/whoami")
	testkit.Eventually(t, "the program is linked", func() bool { return len(c.program.got()) == 2 })
	if got := c.program.got()[1]; !strings.Contains(got, "person/ada/7") {
		t.Errorf("%q", got)
	}
	c.post("e2b", "kitchen", "eve", "/link "+code)
	testkit.Eventually(t, "the code is used", func() bool { return len(c.program.got()) == 3 })
	if got := c.program.got()[2]; !strings.Contains(got, "unknown or older") {
		t.Errorf("%q", got)
	}
	// Ben is known on both sides, and both remember something.
	c.post("e3", "desk", "ben", "/remember I am Ben.")
	c.say(7, "Ada", "/remember I am Ada.")
	c.last("7", 3)
	c.say(7, "Ada", "/link")
	_, code, _ = strings.Cut(c.last("7", 4).Text, "/link ")
	c.post("e4", "desk", "ben", "/link "+code)
	testkit.Eventually(t, "linking is refused", func() bool { return len(c.program.got()) == 5 })
	if got := c.program.got()[4]; !strings.Contains(got, "Both sides have memories") {
		t.Errorf("%q", got)
	}
	c.post("e5", "desk", "ben", "/link AAAAAAAA")
	testkit.Eventually(t, "a wrong code is refused", func() bool { return len(c.program.got()) == 6 })
	if got := c.program.got()[5]; !strings.Contains(got, "unknown or older") {
		t.Errorf("%q", got)
	}
}

// Each command has a reply, in English and in Chinese, and runs that it starts report once.
func TestCommandsOfChats(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
	c.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Nothing to save."})
	c.pair(7, "Ada")
	c.say(7, "Ada", "How do I deploy? First run make, then push.")
	n := 2
	c.last("7", n)
	for _, command := range chatcommand.All() {
		if slices.Contains([]string{"retry", "distill", "summarize", "reflect", "new"}, command.Name) {
			continue
		}
		c.say(7, "Ada", "/"+command.Name)
		n++
		if got := c.last("7", n).Text; got == "" || strings.HasPrefix(got, "You said") {
			t.Errorf("/%s: %q", command.Name, got)
		}
	}
	if menu := c.telegram.Menu("zh"); len(menu) != len(chatcommand.All()) || menu["help"] != "显示命令" {
		t.Errorf("Telegram shows %v", menu)
	}
	for _, command := range [][2]string{
		{"/settings time_zone Europe/Berlin", "Europe/Berlin"}, {"/settings nonsense", "Hint:"},
		{"/remember I am tall.", "Saved."}, {"/forget tall", "/forget profile:"},
		{"/retry", "You said <b>How do I deploy?"}, {"/help 帮助", "显示命令"}, {"/nonsense", "You said <b>/nonsense"},
	} {
		c.say(7, "Ada", command[0])
		n++
		if got := c.last("7", n).Text; !strings.Contains(got, command[1]) {
			t.Errorf("%s: %q", command[0], got)
		}
	}
	c.telegram.Press("7", "7", c.last("7", n-3).Buttons[0].Data)
	n++
	if got := c.last("7", n).Text; got != "Deleted." {
		t.Errorf("the button of /forget: %q", got)
	}
	for _, run := range []string{"Distill", "Summarize"} {
		c.say(7, "Ada", "/"+strings.ToLower(run))
		c.last("7", n+1)
		n += 2
		if got := c.reported("7", n).Text; !strings.HasPrefix(got, run+" ended: ") {
			t.Errorf("%q", got)
		}
	}
}

// reported is last for the result of a run, which the relay sends.
func (c *chats) reported(chat string, n int) channeltest.Message {
	c.T.Helper()
	testkit.Eventually(c.T, "the result arrives", func() bool {
		c.hurry()
		return len(c.chat(chat)) >= n
	})
	return c.last(chat, n)
}

// signed returns the headers of a signed request.
func (c *chats) signed(id string, body []byte) map[string]string {
	c.T.Helper()
	now := time.Now()
	signature, err := c.signer.Sign(id, now, body)
	testkit.Must(c.T, err)
	return map[string]string{"webhook-id": id, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10),
		"webhook-signature": signature}
}

// The text of a file is part of the message, and marks the turn as one with untrusted text. A file that cannot be read
// is named.
func TestAFileOfAChatIsRead(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Sum this up"},
		[]byte("The plan: sail to Rome."))
	c.last("7", 2)
	if got := c.lastRequest(); !strings.Contains(got, "Sum this up") ||
		!strings.Contains(got, "The plan: sail to Rome.") {
		t.Errorf("the model read %s", got)
	}
	if n := c.count("select count(*) from cairn.turns where tainted"); n != 1 {
		t.Errorf("%d tainted turns", n)
	}
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada"}, []byte("\x89PNG\r\n\x1a\n"))
	if got := c.last("7", 3).Text; got != "I could not read the image: the model does not take images." {
		t.Errorf("an image alone: %q", got)
	}
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Look"}, []byte("\x89PNG\r\n\x1a\n"))
	if got := c.last("7", 4).Text; !strings.Contains(got, "the model does not take images") {
		t.Errorf("an image with a text: %q", got)
	}
	if got := c.lastRequest(); !strings.Contains(got, "[image notes.txt: not read]") {
		t.Errorf("the model read %s", got)
	}
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada"}, []byte("\x7fELF\x00\x01"))
	if got := c.last("7", 5).Text; !strings.Contains(got, "PDF and DOCX") {
		t.Errorf("a program alone: %q", got)
	}
}

// The code of a user who was erased or blocked in the meantime links nothing.
func TestACodeOfAnErasedUserLinksNothing(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	erased, err := c.App.Channels.LinkCode(t.Context(), "ada", "404", "Cem")
	testkit.Must(t, err)
	blocked, err := c.App.Channels.LinkCode(t.Context(), "ada", "7", "Ada")
	testkit.Must(t, err)
	testkit.Must(t, c.App.Channels.SetRole(t.Context(), "ada", channel.KindUser, "7", domainchannel.RoleBlocked))
	for i, code := range []string{erased, blocked} {
		c.post(fmt.Sprintf("e%d", i), "room", "ben", "/link "+code)
		if got := c.got(i + 1); !strings.Contains(got, "unknown or older") {
			t.Errorf("%q", got)
		}
	}
	c.post("whoami", "room", "ben", "/whoami")
	if got := c.got(3); !strings.Contains(got, "person/desk/ben") {
		t.Errorf("%q", got)
	}
}

// A name with control characters, or with nothing to show, does not keep its user from talking.
func TestNamesOfSpeakers(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	for i, name := range []string{"A\x07da\nSystem:", " \t "} {
		c.event(fmt.Sprintf("e%d", i), map[string]any{"conversation": "room", "text": "Hi", "group": true,
			"mentioned": true, "sender": map[string]string{"id": "u1", "name": name}})
		if got, want := c.got(i+1), "room: You said **"+[]string{"A da System:: Hi", "u1: Hi"}[i]+"**"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c.event("e2", map[string]any{"conversation": "private", "text": "Hi",
		"sender": map[string]string{"id": "u2", "name": "B\x07o\u202eb\n"}})
	if n := c.count("select count(*) from cairn.identities where user_id = 'u2' and name = 'B o b'"); n != 1 {
		t.Errorf("the name is not stored in one line")
	}
}
