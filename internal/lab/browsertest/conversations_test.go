package browsertest_test

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/browsertest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func TestAConversationIsEnded(t *testing.T) {
	f, b := signedIn(t)
	at := f.At("conversations", f.Thread)
	ended := func() bool {
		return read[inspect.ConversationDetail](f, "/v1/conversations/"+url.PathEscape(f.Thread)).ClosedAt != nil
	}
	if ended() {
		t.Fatal("the conversation has ended before")
	}
	b.Visit(at)
	b.Act("form[action$='/end'] button", "Ended.")
	testkit.Eventually(t, "the conversation has ended", ended)
	b.Visit(at)
	if has(b, "form[action$='/end']") {
		t.Error("the conversation can be ended again")
	}
}

// A conversation is erased with what comes only from it, after its rows were shown.
func TestAConversationIsErased(t *testing.T) {
	f, b := signedIn(t)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Last: "user", Times: 1,
		Calls: []llm.ToolCall{{ID: "call_1", Name: "memory_save", Arguments: `{"content": "Ada has a boat."}`}}})
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	f.Say(f.Thread, 3, "I have a boat.")
	boat := find(t, read[httpapi.BrowsedMemories](f, "/v1/memories/browse").Memories,
		func(m httpapi.BrowsedMemory) bool { return m.Content == "Ada has a boat." }).ID
	gone := func(path string) bool {
		status, _ := ask(f, http.MethodGet, path, "")
		return status == http.StatusNotFound
	}
	conversation := "/v1/conversations/" + url.PathEscape(f.Thread)
	b.Visit(f.At("conversations", f.Thread))
	b.Click("a[href$='/erase']")
	b.Await("#derived")
	b.Choose("#derived", "delete")
	b.Submit("main form[method=get] button")
	shows(b, boat, f.Memory+" has other sources and stays")
	hides(b, boat+" has other sources")
	if gone(conversation) || gone("/v1/memories/"+boat) {
		t.Fatal("the plan has erased something")
	}
	b.Click("[name=sure]")
	b.Act("form[action$='/erase'] button", "The erasure has begun. It ends in the background.")
	testkit.Eventually(t, "the conversation is erased",
		func() bool { return gone(conversation) && gone("/v1/memories/"+boat) })
	if gone("/v1/memories/" + f.Memory) {
		t.Error("a memory with another source is gone")
	}
	b.Visit(f.At("conversations"))
	hides(b, f.Thread)
	b.Visit(f.At("memories"))
	hides(b, "Ada has a boat.")
	b.Expect(http.StatusNotFound)
	b.Visit(f.At("conversations", f.Thread))
}

// chats begins a chat whose reply does not come before the barrier "go" is released. It returns its conversation.
func chats(f *browsertest.Fixture, b *browsertest.Browser) (conversation string) {
	b.T.Helper()
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Here I am.", Barrier: "go"})
	b.T.Cleanup(func() { f.Model.Release("go") })
	b.Visit(f.At("try"))
	b.Type("#text", "Are you there?")
	b.Click("form[action$=try] button")
	b.Await("form[action$=stop] button")
	return path.Base(b.Path())
}

// canceled waits until the only turn of a conversation was canceled.
func canceled(f *browsertest.Fixture, conversation string) {
	f.T.Helper()
	testkit.Eventually(f.T, "the turn is canceled", func() bool {
		turns := read[httpapi.TurnList](f, "/v1/conversations/"+conversation+"/turns").Turns
		return len(turns) == 1 && turns[0].Status == "ended" && turns[0].Reason == "interrupted"
	})
}

func TestATurnIsCanceled(t *testing.T) {
	f, b := signedIn(t)
	conversation := chats(f, b)
	at := f.At("conversations", conversation)
	b.Visit(at)
	b.Act("form[action$='/cancel'] button", "A cancellation was requested.")
	canceled(f, conversation)
	appears(b, at, "canceled")
	if has(b, "form[action$='/cancel']") {
		t.Error("the turn can be canceled again")
	}
	hides(b, "Here I am.")
}

// A person stops a reply, and goes on with the chat.
func TestAReplyIsStopped(t *testing.T) {
	f, b := signedIn(t)
	conversation := chats(f, b)
	b.Submit("form[action$='/stop'] button") // its notice goes when the turn has ended
	canceled(f, conversation)
	b.Await("form[action$='/try'] #text") // without a reload
	hides(b, "Here I am.")
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Back again."})
	b.Type("#text", "And now?")
	b.Submit("form[action$='/try'] button")
	b.Await("form[action$='/rate'] button")
	shows(b, "Back again.")
}

// The gateway dies while a reply is written. The page asks the next one for it, and the turn is there once.
func TestAChatOutlivesItsGateway(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // finds a free port
	testkit.Must(t, err)
	address := listener.Addr().String()
	testkit.Must(t, listener.Close())
	begin := func() *apptest.Process {
		gateway := f.StartServe(address)
		testkit.Eventually(t, "the gateway is ready", func() bool {
			res, err := http.Get("http://" + address + "/readyz")
			return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
		})
		return gateway
	}
	gateway := begin()
	b := browsertest.Open(t, "http://"+address)
	b.SignIn(f.Key)
	conversation := chats(f, b)
	b.Expect(http.StatusBadGateway) // the connection is lost
	gateway.Kill()
	f.Model.Release("go")
	begin()
	b.Await("form[action$='/rate'] button") // without a reload
	b.Visit(f.At("try", conversation))
	for _, text := range []string{"Are you there?", "Here I am."} {
		if n := strings.Count(b.Text(), text); n != 1 {
			t.Errorf("%q is there %d times: %s", text, n, b.Text())
		}
	}
	if turns := read[httpapi.TurnList](f, "/v1/conversations/"+conversation+"/turns").Turns; len(turns) != 1 {
		t.Errorf("turns %+v", turns)
	}
}

// From a memory, two clicks open the message from which it was written.
func TestAMemoryLeadsToItsMessage(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("memories", f.Memory))
	b.Click("section[aria-labelledby=evidence] a[href*='#m']")
	b.Await(":target.message")
	if said := browsertest.Evaluate[string](b, "document.querySelector(':target').innerText"); !strings.Contains(said,
		"I like green tea") {
		t.Errorf("the highlighted message is %q", said)
	}
}

// Each reply of a conversation can be corrected.
func TestAReplyIsCorrected(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("conversations", f.Thread) + "?from=0")
	b.Click("details.rate > summary")
	b.Click("details.correct > summary")
	b.Type("details.correct textarea", "You like green tea.")
	b.Act("details.correct button", "Thank you: the feedback is stored.")
	find(t, read[httpapi.BankCaseList](f, "/v1/banks/default/cases?state=open").Cases,
		func(c httpapi.BankCase) bool { return slices.Equal(c.Gold, []string{"You like green tea."}) })
	if at := browsertest.Evaluate[string](b, "location.search"); !strings.Contains(at, "from=0") {
		t.Errorf("another part of the conversation is shown: %s", at)
	}
	b.CheckAccessibility()
}
