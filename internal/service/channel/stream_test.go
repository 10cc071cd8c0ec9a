package channel_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/run"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// Texts of a reply.
const (
	begin = "It rains in Bergen, and it will rain tomorrow."
	rest  = " Take a coat."
)

func TestAReplyIsShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ref := d.say("How is the weather?")
	d.write(ref, begin)
	d.shows(begin)
	id := d.first()
	d.write(ref, rest)
	d.shows(begin + rest)
	d.say("/help") // is not held up
	testkit.Must(t, d.deliver(ref))
	d.shows(begin+rest, "Help.")
	d.write(ref, " Bye.")
	d.end(ref)
	testkit.Must(t, d.deliver(ref))
	d.shows(begin+rest+" Bye.", "Help.")
	if d.first() != id {
		t.Errorf("another message than %s: %+v", id, d.messages)
	}
	if n := d.Number("select count(*) from deliveries where state <> 'sent'"); n != 0 {
		t.Errorf("%d deliveries are open", n)
	}
}

func TestAQuickReplyIsOneMessage(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ref := d.say("How are you?")
	d.write(ref, "Fine.")
	d.end(ref)
	testkit.Must(t, d.deliver(ref))
	d.shows("Fine.")
	if want := []string{"send"}; !slices.Equal(d.log, want) {
		t.Errorf("%q", d.log)
	}
}

// A reply is not shown before an earlier message of the chat, which waits.
func TestAPartialReplyKeepsTheOrder(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.say("/help")
	ref := d.say("How is the weather?")
	d.write(ref, begin)
	time.Sleep(2 * time.Second) // nothing is shown
	d.shows()
	testkit.Must(t, d.deliver(ref))
	d.shows("Help.")
	d.write(ref, rest)
	d.shows("Help.", begin+rest)
}

// A platform that refuses a change, or does not answer, gets the reply all the same.
func TestErrorsOfPartialReplies(t *testing.T) {
	t.Parallel()
	busy := &service.SendError{Reason: "rate limited", RetryAfter: time.Second}
	gone := &service.SendError{Reason: "no such message", Permanent: true}
	whole := begin + rest
	for name, c := range map[string]struct {
		kind    string
		err     error
		after   bool
		decides bool
		want    []string
		log     []string
	}{
		"busy at first":       {"send", busy, false, false, []string{whole}, []string{"send"}},
		"busy later":          {"edit", busy, false, false, []string{whole}, []string{"send", "edit"}},
		"an edit without end": {"edit", errBroken, true, false, []string{whole}, []string{"send", "edit", "edit"}},
		"a refused edit":      {"edit", gone, false, false, []string{whole}, []string{"send", "edit"}},
		"lost, and found":     {"send", errBroken, true, true, []string{whole}, []string{"send", "edit"}},
		"not sent":            {"send", errBroken, false, true, []string{whole}, []string{"send", "edit"}},
		"lost":                {"send", errBroken, true, false, []string{begin, whole}, []string{"send", "send"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			d.set(func() { d.decides, d.after, d.fail[c.kind] = c.decides, c.after, c.err })
			ref := d.say("How is the weather?")
			d.write(ref, begin)
			testkit.Eventually(t, "the reply has begun", func() bool {
				return d.Number("select count(*) from deliveries where state = 'streaming'") == 1
			})
			d.write(ref, rest)
			testkit.Eventually(t, "the error has happened", func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.fail[c.kind] == nil
			})
			d.end(ref)
			testkit.Must(t, d.deliver(ref))
			d.shows(c.want...)
			d.set(func() {
				if !slices.Equal(d.log, c.log) {
					t.Errorf("%q", d.log)
				}
			})
		})
	}
}

// The whole reply is sent again only if the platform has it not.
func TestErrorsOfTheWholeReply(t *testing.T) {
	t.Parallel()
	busy := &service.SendError{Reason: "rate limited", RetryAfter: time.Second}
	refused := &service.SendError{Reason: "not a card", Permanent: true}
	for name, c := range map[string]struct {
		err    error
		delete bool // by a user
		again  bool // the first attempt fails
		log    []string
	}{
		"busy":         {err: busy, again: true, log: []string{"send", "edit"}},
		"broken":       {err: errBroken, again: true, log: []string{"send", "edit"}},
		"not accepted": {err: refused, log: []string{"send", "delete", "send"}},
		"deleted":      {delete: true, log: []string{"send", "delete", "send"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			ref := d.say("How is the weather?")
			d.write(ref, begin)
			d.shows(begin)
			d.settle(ref)
			d.stop() // this process shows no more
			d.write(ref, rest)
			d.end(ref)
			d.set(func() {
				if c.err != nil {
					d.fail["edit"] = c.err
				}
				if c.delete {
					d.messages = nil
				}
			})
			err := d.deliver(ref)
			if c.again == (err == nil) {
				t.Fatalf("the first attempt: %v", err)
			}
			testkit.Must(t, d.deliver(ref))
			d.shows(begin + rest)
			if !slices.Equal(d.log, c.log) {
				t.Errorf("%q", d.log)
			}
		})
	}
}

// settle waits until no change of a partial reply is in progress.
func (d *desk) settle(ref run.Ref) {
	d.t.Helper()
	testkit.Eventually(d.t, "the change is stored", func() bool {
		return d.Number("select count(*) from deliveries where source = $1 and partial_until is null",
			"turn/"+ref.Run) == 1
	})
}

// A process that has begun a change and does not end it, does not overwrite the reply: the reply waits.
func TestTheReplyWaitsForTheLastChange(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ref := d.say("How is the weather?")
	d.write(ref, begin)
	d.shows(begin)
	d.settle(ref)
	d.stop()
	route := int64(d.Number("select max(id) from channel_routes"))
	const lease = time.Second
	began := time.Now()
	p, ok, err := d.Channels().BeginPartial(t.Context(), ref, route, true, lease)
	if err != nil || !ok || p.First || p.ID == nil || *p.ID != d.first() {
		t.Fatalf("%+v, %t, %v", p, ok, err)
	}
	if _, ok, err := d.Channels().BeginPartial(t.Context(), ref, route, true, lease); ok || err != nil {
		t.Errorf("two changes at the same time: %t, %v", ok, err)
	}
	d.end(ref)
	testkit.Must(t, d.deliver(ref))
	if time.Since(began) < lease {
		t.Error("the reply was sent during a change")
	}
	if _, ok, err := d.Channels().BeginPartial(t.Context(), ref, route, true, lease); ok || err != nil {
		t.Errorf("a change after the reply: %t, %v", ok, err)
	}
	if open, err := d.Channels().PartialOpen(t.Context(), ref); open || err != nil {
		t.Errorf("open %t, %v", open, err)
	}
	d.shows(begin)
}

// A turn that has no text leaves no partial reply.
func TestATurnWithoutTextLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"deleted": nil, "busy": errBroken,
		"not deleted": &service.SendError{Reason: "too old", Permanent: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			ref := d.say("How is the weather?")
			d.write(ref, begin)
			d.shows(begin)
			d.settle(ref)
			d.end(ref)
			d.Exec("update deliveries set body = '{\"text\": \" \"}' where state = 'ready'")
			d.set(func() {
				if err != nil {
					d.fail["delete"] = err
				}
			})
			got := d.deliver(ref)
			if errors.Is(err, errBroken) {
				if got == nil {
					t.Error("the deletion is not repeated")
				}
				got = d.deliver(ref)
			}
			testkit.Must(t, got)
			if name == "not deleted" {
				d.shows("…")
				return
			}
			d.shows()
		})
	}
}

// A long reply is shown up to the end of its first message.
func TestALongReplyFollowsInMoreMessages(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ref := d.say("Tell me a story.")
	long := ""
	for len(long) < 450 {
		long += "Once upon a time. "
	}
	d.write(ref, long)
	testkit.Eventually(t, "the first message is shown", func() bool { return len(d.texts()) == 1 })
	first := d.texts()[0]
	d.settle(ref)
	d.end(ref)
	testkit.Must(t, d.deliver(ref))
	if got := d.texts(); len(got) != 3 || got[0] != first || len(first) > 200 {
		t.Errorf("%q", got)
	}
}

func TestAnAccountMayShowOnlyWholeReplies(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.stop()
	d.account.Profile.Partial = false
	d.serve()
	ref := d.say("How is the weather?")
	d.write(ref, begin)
	time.Sleep(2 * time.Second) // nothing is shown
	d.end(ref)
	testkit.Must(t, d.deliver(ref))
	if want := []string{"send"}; !slices.Equal(d.log, want) {
		t.Errorf("%q", d.log)
	}
}
