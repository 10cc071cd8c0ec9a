package conversation_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

func TestAcceptMakesAMessageDurableWithItsRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := b.accept(b.message("c", "m1", "Hello, I am Ada."))
	if !out.Made || out.Turn.Number != 1 || out.Turn.Run != out.Run.Ref.Run || out.Run.Kind != run.Turn {
		t.Errorf("accepted %+v", out)
	}
	if got := b.rows(); got != "conversations 1, turns 1, runs 1, messages 1, search_docs 0, outbox 1" {
		t.Errorf("stored %s", got)
	}
	second := b.accept(b.message("c", "m2", "And hello again."))
	if second.Turn.Number != 2 || second.Turn.FirstSeq != 1 || second.Conversation != out.Conversation {
		t.Errorf("the second message is %+v", second)
	}
	other := b.accept(b.message("d", "m1", "Hello"))
	if other.Turn.Number != 1 || other.Conversation == out.Conversation {
		t.Errorf("the same id in another conversation is %+v", other)
	}
}

// The limits of a turn are pinned when it is accepted: channel budget, workspace settings and
// request options.
func TestAcceptPinsTheConfigurationOfARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) {
		s.Agent, s.Tools.Skills, s.Nudge.Every, s.Memory.IdleMinutes = settings.Remy, true, 3, 7
		s.ScheduledCheckpoint = true
	})
	r := b.message("c", "m1", "请帮我预订一张去上海的火车票，谢谢。")
	r.Channel, r.MaxTurns, r.Spec.Model, r.Spec.Budget.Wall = "scheduled", 4, "scripted", time.Minute
	spec, err := agentrun.SpecOf(b.accept(r).Run)
	testkit.Must(t, err)
	want := agent.ForChannel("scheduled")
	want.Max, want.Wall, want.Checkpoint = 4, time.Minute, true
	if spec.Budget != want || spec.Lang != "zh" || spec.Model != "scripted" || spec.Origin != agent.OriginAgent {
		t.Errorf("pinned %+v", spec)
	}
	if spec.Agent != settings.Remy || len(spec.Toolsets) != 1 || spec.Settings.Every != 3 ||
		spec.Idle != 7*time.Minute {
		t.Errorf("of the workspace is pinned %+v", spec)
	}
	b.Choose(func(s *settings.Settings) { s.Agent = "" })
	again, err := agentrun.SpecOf(b.accept(r).Run)
	if err != nil || again.Agent != settings.Remy {
		t.Errorf("accepted again it is pinned to %+v, %v", again, err)
	}
}

// An observed exchange is stored and can be found, and the saves of its agent count.
func TestAcceptKeepsAnObservedExchange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.observed("c", "m1",
		transcript.Message{Role: transcript.User, Content: "Remember that the kettle is blue."},
		transcript.Message{Role: transcript.Assistant,
			ToolCalls: []transcript.ToolCall{{ID: "a", Name: "memory_save", Arguments: "{}"}}},
		transcript.Message{Role: transcript.Tool, ToolCallID: "a", Content: `{"ok":true,"action":"added"}`},
		transcript.Message{Role: transcript.Assistant, Content: "Noted."})
	out := b.accept(r)
	facts := out.Turn.Facts
	if out.Turn.ReplySeq != 3 || !facts.Delivered || !facts.SavedMemory || facts.SavedSkill || facts.ToolIters != 1 {
		t.Errorf("accepted %+v", out.Turn)
	}
	if n := b.Number("select count(*) from search_docs where kind = 'turn'"); n != 2 {
		t.Errorf("%d messages can be found, want what the two said", n)
	}
	if again := b.accept(r); again.Made || again.Run.Ref != out.Run.Ref {
		t.Errorf("the same request again: %+v", again)
	}
	silent := b.accept(b.observed("c", "m2", transcript.Message{Role: transcript.User, Content: "Are you there?"}))
	if silent.Turn.ReplySeq != -1 || silent.Turn.Facts.Delivered || silent.Turn.FirstSeq != 4 {
		t.Errorf("an exchange without an answer is %+v", silent.Turn)
	}
}

func TestAConversationIsCalledWhatWasSaidFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(b.message("c", "m1", "\n "+strings.Repeat("é", 80)+"\nand more"))
	b.accept(b.message("c", "m2", "something else"))
	if n := b.Number("select count(*) from conversations where title = $1", strings.Repeat("é", 59)+"…"); n != 1 {
		t.Error("the title is not the first line, cut short")
	}
}

// Unknown channels have the budget of sms, the smallest one for text.
func TestAnUnknownChannelIsTreatedAsSMS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.message("c", "m1", "hello")
	for _, r.Channel = range []string{"telegram", "sms", "fax"} { // all of them the same message
		if _, err := b.Accept(t.Context(), r); err != nil {
			t.Errorf("%s: %v", r.Channel, err)
		}
	}
	if n := b.Number("select count(*) from conversations where channel = 'sms'"); n != 1 {
		t.Errorf("%d conversations on sms", n)
	}
}

func TestABadMessageIsRefusedBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range badMessages() {
		r := b.message("c", "m1", "hello")
		c.change(&r)
		if _, err := b.Accept(t.Context(), r); fault.CodeOf(err) != c.code || fault.From(err).Hint == "" {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if got := b.rows(); got != "conversations 0, turns 0, runs 0, messages 0, search_docs 0, outbox 0" {
		t.Errorf("stored %s", got)
	}
}

// badMessage is an invalid message and the expected error code.
type badMessage struct {
	change func(*conversation.Request)
	code   fault.Code
}

func badMessages() map[string]badMessage {
	long := strings.Repeat("x", 201)
	hello := transcript.Message{Role: transcript.User, Content: "hello"}
	bad := func(change func(*conversation.Request)) badMessage {
		return badMessage{change, fault.InvalidArgument}
	}
	observed := func(said ...transcript.Message) func(*conversation.Request) {
		return func(r *conversation.Request) { r.Mode, r.Text, r.Messages = contract.Observe, "", said }
	}
	return map[string]badMessage{
		"no conversation":              bad(func(r *conversation.Request) { r.Conversation = "" }),
		"long conversation":            bad(func(r *conversation.Request) { r.Conversation = long }),
		"conversation with a NUL":      bad(func(r *conversation.Request) { r.Conversation = "a\x00b" }),
		"no message id":                bad(func(r *conversation.Request) { r.MessageID = "" }),
		"long message id":              bad(func(r *conversation.Request) { r.MessageID = long }),
		"message id that is no text":   bad(func(r *conversation.Request) { r.MessageID = "\xff" }),
		"message id with a line break": bad(func(r *conversation.Request) { r.MessageID = "a\nb" }),
		"long channel":                 bad(func(r *conversation.Request) { r.Channel = long }),
		"channel of imports":           bad(func(r *conversation.Request) { r.Channel = "import" }),
		"unknown origin":               bad(func(r *conversation.Request) { r.Origin = "nudge" }),
		"unknown mode":                 bad(func(r *conversation.Request) { r.Mode = "guess" }),
		"nothing said":                 bad(func(r *conversation.Request) { r.Text = " \n\t" }),
		"messages in mode answer":      bad(func(r *conversation.Request) { r.Messages = append(r.Messages, hello) }),
		"override below":               bad(func(r *conversation.Request) { r.MaxTurns = -1 }),
		"override above":               bad(func(r *conversation.Request) { r.MaxTurns = 51 }),
		"too much said": {func(r *conversation.Request) {
			r.Text = strings.Repeat("界", 32_001)
		}, fault.TooLarge},

		"nothing observed":         bad(observed()),
		"observed from the middle": bad(observed(transcript.Message{Role: transcript.Assistant, Content: "hello"})),
		"observed robot":           bad(observed(hello, transcript.Message{Role: "robot", Content: "beep"})),
		"observed too much":        bad(observed(slices.Repeat([]transcript.Message{hello}, 201)...)),
		"text in mode observe": bad(func(r *conversation.Request) {
			r.Mode, r.Messages = contract.Observe, []transcript.Message{hello}
		}),
		"observed too long": {observed(transcript.Message{Role: transcript.User,
			Content: strings.Repeat("x", 32_001)}), fault.TooLarge},
	}
}

func TestAnIDServesOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.accept(b.message("c", "m1", "hello"))
	stored := b.rows()
	if again := b.accept(b.message("c", "m1", "hello")); again.Made || again.Run.Ref != first.Run.Ref {
		t.Errorf("the same message: %+v", again)
	}
	for name, change := range map[string]func(*conversation.Request){
		"another text":     func(r *conversation.Request) { r.Text = "bye" },
		"another origin":   func(r *conversation.Request) { r.Origin = "scheduled" },
		"another override": func(r *conversation.Request) { r.MaxTurns = 3 },
	} {
		r := b.message("c", "m1", "hello")
		change(&r)
		if _, err := b.Accept(t.Context(), r); fault.CodeOf(err) != fault.OpReused || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := b.message("c", "m2", "hello")
	r.Channel = "sms"
	if _, err := b.Accept(t.Context(), r); fault.CodeOf(err) != fault.VersionConflict || fault.From(err).Hint == "" {
		t.Errorf("another channel: %v", err)
	}
	if got := b.rows(); got != stored {
		t.Errorf("one message left %s, the others %s", stored, got)
	}
	// An ID that looks like the ID of a reply is accepted like any other.
	testkit.Must(t, b.end(t.Context(), first.Run.Ref))
	if slash := b.accept(b.message("c", "m1/1", "hello")); !slash.Made {
		t.Errorf("m1/1 is taken for %+v", slash)
	}
}

func TestAMessageAcceptedByManyAtOnceIsOneTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const senders = 8
	got := make([]conversation.AcceptedTurn, senders)
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			var err error
			if got[i], err = b.Accept(t.Context(), b.message("c", "m1", "hello")); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	made := 0
	for _, a := range got {
		if a.Made {
			made++
		}
		if a.Run.Ref != got[0].Run.Ref {
			t.Errorf("two senders have the runs %v and %v", a.Run.Ref, got[0].Run.Ref)
		}
	}
	if made != 1 {
		t.Errorf("%d senders made the turn", made)
	}
	if stored := b.rows(); stored != "conversations 1, turns 1, runs 1, messages 1, search_docs 0, outbox 1" {
		t.Errorf("stored %s", stored)
	}
}
