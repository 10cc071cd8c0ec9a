package channel_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// drawer is a platform with one file.
type drawer struct{ *screen }

func (drawer) Fetch(context.Context, channel.Attachment) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("%PDF-1.4 and more")), nil
}

// process is the service in another program, over the same database.
func (d *desk) process(fileText func(context.Context, []byte) (string, error)) (*service.Service, service.Account) {
	d.t.Helper()
	p := d.service.Ports
	p.FileText = fileText
	s := service.New(p)
	a := d.account
	a.Adapter = drawer{d.screen}
	return s, a
}

// The platform may forget an event before its file is read. A process that ends while it parses a file is not followed
// by another attempt at that file, whether the event is sent again or taken over.
func TestAFileIsParsedOnceAfterItsEventIsStored(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.stop()
	var parsed atomic.Int64
	stuck, begun := make(chan struct{}), make(chan struct{})
	first, a := d.process(func(context.Context, []byte) (string, error) {
		if parsed.Add(1) == 1 {
			close(begun)
		}
		<-stuck
		return "The text of a late process", nil
	})
	event := channel.Event{Key: "e1", Kind: channel.Message, Place: channel.Place{Account: "desk", Chat: "room"},
		Sender: channel.Sender{ID: "ada", Name: "Ada"}, Text: "Read this", MessageID: "e1", At: time.Now(),
		Attachments: []channel.Attachment{{Ref: "x", Name: "x.pdf"}}}
	testkit.Must(t, first.AcceptEvents(t.Context(), a, []channel.Event{event}))
	<-begun
	if n := d.Number("select count(*) from channel_events where state = 'received'"); n != 1 {
		t.Fatalf("%d events are stored while their file is parsed", n)
	}
	second, a := d.process(func(context.Context, []byte) (string, error) {
		parsed.Add(1)
		return "", errors.New("must not be parsed")
	})
	d.Exec("update channel_events set files_until = '-infinity'") // as if the first process had ended long ago
	testkit.Must(t, second.AcceptEvents(t.Context(), a, []channel.Event{event}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- second.Receive(ctx, a) }()
	testkit.Eventually(t, "the event is handled", func() bool {
		return d.Number("select count(*) from channel_events where state = 'handled'") == 1
	})
	close(stuck)
	cancel()
	testkit.Must(t, <-ended)
	if n := parsed.Load(); n != 1 {
		t.Errorf("the file is parsed %d times", n)
	}
	if n := d.Number("select count(*) from turns"); n != 1 {
		t.Errorf("%d turns", n)
	}
	said := d.Text("select content from messages where role = 'user'")
	if said != "Read this\n\n[file x.pdf: not read]" {
		t.Errorf("the message is %q", said)
	}
}
