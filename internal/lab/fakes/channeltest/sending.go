package channeltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

func sends(t *testing.T, s Suite) {
	r := s.quiet(t)
	texts := []string{"Hello", "**bold** and `code`", "```go\nfmt.Println(1)\n```", "1 < 2 & 3 > 2", "- a\n- b"}
	for i, text := range texts {
		id, err := r.send(channel.Part{Key: "k" + string(rune('0'+i)), Text: text})
		if err != nil || id == "" {
			t.Fatalf("%q: %q, %v", text, id, err)
		}
		if got := r.Sent(); len(got) != i+1 || got[i].Chat != r.Private("7") || got[i].ID != id {
			t.Fatalf("%q: %+v", text, got)
		}
	}
	if got := r.Sent()[0].Text; got != "Hello" {
		t.Errorf("sent %q", got)
	}
}

// A text can have a link that others made the model write, and the link can contain what they should not get. So no
// platform fetches links without a user.
func links(t *testing.T, s Suite) {
	r := s.quiet(t)
	id, err := r.send(channel.Part{Key: "k1", Text: "See https://example.org/?q=secret"})
	testkit.Must(t, err)
	if editor, ok := r.adapter.(service.Editor); ok {
		at := channel.Place{Account: "ada", Chat: r.Private("7")}
		testkit.Must(t, editor.Edit(t.Context(), at, id, "See https://example.org/?q=more"))
	}
	if r.Sent()[0].Preview {
		t.Error("the platform may fetch the link")
	}
}

// A part of the greatest size is accepted. The fake enforces the platform's limit.
func limits(t *testing.T, s Suite) {
	r := s.quiet(t)
	l := r.adapter.Limits()
	if l.Units < 100 || l.Parts < 1 {
		t.Fatalf("%+v", l)
	}
	for i, piece := range []string{"x", "word ", "界", "<&>"} {
		text := strings.TrimSpace(channel.Split(strings.Repeat(piece, l.Units), l.Units)[0])
		if _, err := r.send(channel.Part{Key: "k" + string(rune('0'+i)), Text: text}); err != nil {
			t.Errorf("%d units of %q: %v", l.Units, piece, err)
		}
	}
}

func busy(t *testing.T, s Suite) {
	r := s.quiet(t)
	r.Fail(Fault{Kind: Busy, RetryAfter: 3 * time.Second})
	_, err := r.send(channel.Part{Key: "k1", Text: "Hello"})
	var refused *service.SendError
	if !errors.As(err, &refused) || refused.Permanent || refused.RetryAfter < 3*time.Second || len(r.Sent()) != 0 {
		t.Errorf("%v, sent %+v", err, r.Sent())
	}
}

func gone(t *testing.T, s Suite) {
	r := s.quiet(t)
	r.Fail(Fault{Kind: Gone})
	_, err := r.send(channel.Part{Key: "k1", Text: "Hello"})
	var refused *service.SendError
	if !errors.As(err, &refused) || !refused.Permanent || !refused.Gone || refused.Reason == "" || len(r.Sent()) != 0 {
		t.Errorf("%+v, sent %+v", err, r.Sent())
	}
}

// A message that the platform does not accept says nothing about the chat.
func refused(t *testing.T, s Suite) {
	if s.Retries {
		t.Skip("the platform refuses no message permanently")
	}
	r := s.quiet(t)
	r.Fail(Fault{Kind: Refused})
	_, err := r.send(channel.Part{Key: "k1", Text: "Hello"})
	var why *service.SendError
	if !errors.As(err, &why) || !why.Permanent || why.Gone || why.Reason == "" || len(r.Sent()) != 0 {
		t.Errorf("%+v, sent %+v", err, r.Sent())
	}
	if _, err := r.send(channel.Part{Key: "k2", Text: "Hello"}); err != nil || len(r.Sent()) != 1 {
		t.Errorf("the next message: %v, sent %+v", err, r.Sent())
	}
}

func broken(t *testing.T, s Suite) {
	r := s.quiet(t)
	r.Fail(Fault{Kind: Broken})
	_, err := r.send(channel.Part{Key: "k1", Text: "Hello"})
	var refused *service.SendError
	if err == nil || errors.As(err, &refused) && refused.Permanent || len(r.Sent()) != 0 {
		t.Fatalf("%v, sent %+v", err, r.Sent())
	}
	if _, err := r.send(channel.Part{Key: "k1", Text: "Hello", Repeated: true}); err != nil || len(r.Sent()) != 1 {
		t.Errorf("%v, sent %+v", err, r.Sent())
	}
}

// The outcome of the first attempt is unknown. A platform that decides shows the message once.
func unknown(t *testing.T, s Suite) {
	r := s.quiet(t)
	r.Fail(Fault{Kind: Unknown})
	if _, err := r.send(channel.Part{Key: "k1", Text: "Hello"}); err == nil {
		t.Fatal("a lost response is no error")
	}
	id, err := r.send(channel.Part{Key: "k1", Text: "Hello", Repeated: true})
	want := 2
	if r.adapter.Limits().Decides {
		want = 1
	}
	if got := r.Sent(); err != nil || id == "" || len(got) != want {
		t.Errorf("%q, %v, sent %+v", id, err, got)
	}
	if _, err := r.send(channel.Part{Key: "k2", Text: "Hello"}); err != nil || len(r.Sent()) != want+1 {
		t.Errorf("the same text with another key: %v, sent %+v", err, r.Sent())
	}
}

func edits(t *testing.T, s Suite) {
	r := s.quiet(t)
	editor, ok := r.adapter.(service.Editor)
	if !ok {
		t.Skip("the adapter does not change messages")
	}
	id, err := r.send(channel.Part{Key: "k1", Text: "Draft"})
	testkit.Must(t, err)
	testkit.Must(t, editor.Edit(t.Context(), channel.Place{Account: "ada", Chat: r.Private("7")}, id, "Final"))
	if got := r.Sent(); len(got) != 1 || got[0].Text != "Final" {
		t.Errorf("%+v", got)
	}
}

func check(t *testing.T, s Suite) {
	r := s.quiet(t)
	if err := r.adapter.Check(t.Context()); err != nil {
		t.Error(err)
	}
	wrong, err := s.Wrong(r.Platform)
	if err == nil {
		err = wrong.Check(t.Context())
	}
	if f := fault.From(err); err == nil || f.Code != fault.Misconfigured || f.Hint == "" {
		t.Errorf("wrong credentials: %v", err)
	}
	r.noSecret(err)
}

// Receive ends with its context.
func stop(t *testing.T, s Suite) {
	r := s.quiet(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.adapter.Receive(ctx, "", r.accept) }()
	time.Sleep(200 * time.Millisecond)
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("Receive continues")
	}
}

// places are those in which partial replies are shown.
func (r *room) places() map[string]channel.Place {
	out := map[string]channel.Place{"private": {Account: "ada", Chat: r.Private("7")}}
	if !r.NoGroup {
		out["group"] = channel.Place{Account: "ada", Chat: r.Group(1)}
	}
	return out
}

// partial shows a reply while it is written. In the end, there is one message with the reply.
func partial(t *testing.T, s Suite) {
	r := s.quiet(t)
	streamer, ok := r.adapter.(service.Streamer)
	if !ok {
		t.Skip("the adapter does not show partial replies")
	}
	texts := []string{"It", "It *rains", "It *rains* in `Ber", "```\nIt *rains*", "It *rains* in `Bergen`."}
	for name, to := range r.places() {
		pace, before := streamer.Pace(to), len(r.Sent())
		if pace.Every <= 0 {
			t.Fatalf("%s: %+v", name, pace)
		}
		if pace.Preview > 0 {
			for _, text := range texts {
				testkit.Must(t, r.adapter.(service.Previewer).Preview(t.Context(), to, "k1", text))
			}
			if got := r.Sent(); len(got) != before {
				t.Errorf("%s: previews are messages: %+v", name, got)
			}
			continue
		}
		id, err := r.adapter.Send(t.Context(), to, channel.Part{Key: "k1-" + name, Text: texts[0]})
		testkit.Must(t, err)
		for _, text := range texts[1:] {
			testkit.Must(t, streamer.Edit(t.Context(), to, id, text))
		}
		testkit.Must(t, streamer.Edit(t.Context(), to, id, texts[len(texts)-1])) // a repetition
		got := r.Sent()
		if len(got) != before+1 || got[before].ID != id || got[before].Chat != to.Chat {
			t.Fatalf("%s: %+v", name, got)
		}
		whole, err := r.adapter.Send(t.Context(), to, channel.Part{Key: "k2-" + name, Text: texts[len(texts)-1]})
		testkit.Must(t, err)
		if got = r.Sent(); got[before].Text != got[before+1].Text || whole == id {
			t.Errorf("%s: the partial reply ends as %q, not as %q", name, got[before].Text, got[before+1].Text)
		}
	}
}

// A change that the platform refuses leaves the message as it is.
func refusedChanges(t *testing.T, s Suite) {
	r := s.quiet(t)
	streamer, ok := r.adapter.(service.Streamer)
	if !ok {
		t.Skip("the adapter does not show partial replies")
	}
	for name, to := range r.places() {
		show := func(text string) error {
			return r.adapter.(service.Previewer).Preview(t.Context(), to, "k1", text)
		}
		if streamer.Pace(to).Preview == 0 {
			id, err := r.adapter.Send(t.Context(), to, channel.Part{Key: "k1-" + name, Text: "It"})
			testkit.Must(t, err)
			show = func(text string) error { return streamer.Edit(t.Context(), to, id, text) }
		}
		before := r.Sent()
		r.Fail(Fault{Kind: Busy, RetryAfter: 3 * time.Second}, Fault{Kind: Broken})
		var refused *service.SendError
		err := show("It rains")
		if !errors.As(err, &refused) || refused.Permanent || refused.RetryAfter < 3*time.Second {
			t.Errorf("%s: %v", name, err)
		}
		r.noSecret(err)
		if err = show("It rains"); err == nil || errors.As(err, &refused) && refused.Permanent {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.Sent(); !slices.EqualFunc(got, before, func(a, b Message) bool { return a.Text == b.Text }) {
			t.Errorf("%s: %+v, before %+v", name, got, before)
		}
		testkit.Must(t, show("It rains"))
	}
}

// A deleted message cannot be changed, and deleting it once more is no error.
func deletion(t *testing.T, s Suite) {
	r := s.quiet(t)
	streamer, ok := r.adapter.(service.Streamer)
	if !ok {
		t.Skip("the adapter does not show partial replies")
	}
	for name, to := range r.places() {
		id, err := r.adapter.Send(t.Context(), to, channel.Part{Key: "k1-" + name, Text: "It"})
		testkit.Must(t, err)
		for range 2 {
			testkit.Must(t, streamer.Delete(t.Context(), to, id))
		}
		if got := r.Sent(); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		err = streamer.Edit(t.Context(), to, id, "It rains")
		var refused *service.SendError
		if !errors.As(err, &refused) || !refused.Permanent {
			t.Errorf("%s: %v", name, err)
		}
		r.noSecret(err)
	}
}
