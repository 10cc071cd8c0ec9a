package channeltest

import (
	"context"
	"errors"
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
		t.Skip("the platform accepts a repeated message")
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
