package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
)

// Read limits of request bodies.
const (
	bodyIdle     = 10 * time.Second // without data; the default of Options.BodyIdle
	bodyPatience = time.Minute      // for a whole body; one of a load may take longer
)

// body is the body of a request with read deadlines. The first deadline is set before the key is
// checked. The deadline is removed at the end of the body only: on a connection, a later deadline would
// cancel the request. A body that is cut keeps one in the past, so that no later read waits for the rest.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	until   time.Time // zero for bodies that may take any time
	ended   bool
	failed  error

	maxValues int
	values    decoding.Values
}

// newBody returns the body of r, or nil if r has none.
func newBody(w http.ResponseWriter, r *http.Request, idle time.Duration) *body {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), idle: cmp.Or(idle, bodyIdle)}
	b.wait()
	return b
}

// limit limits the size of the body, its JSON values, and the time until all of it has arrived.
func (b *body) limit(w http.ResponseWriter, size int64, values int) {
	b.maxValues = values
	b.ReadCloser = http.MaxBytesReader(w, b.ReadCloser, size)
	b.until = time.Now().Add(bodyPatience)
}

// wait sets the deadline of the next read. It fails on connections without deadlines, such as those of tests.
func (b *body) wait() {
	deadline := time.Now().Add(b.idle)
	if !b.until.IsZero() && b.until.Before(deadline) {
		deadline = b.until
	}
	_ = b.control.SetReadDeadline(deadline)
}

func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	b.wait()
	n, err := b.ReadCloser.Read(p)
	if !b.until.IsZero() {
		if b.values.Add(p[:n]); b.values.N > b.maxValues {
			n, err = 0, fault.New(fault.TooLarge, fmt.Sprintf("request body has more than %d JSON values", b.maxValues),
				"send several requests with fewer items")
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	case err != nil:
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fault.New(fault.RequestTimeout, "request body stopped arriving", "")
		}
		b.failed = err
		b.abandon()
	}
	return n, err
}

// Close ends the body. net/http would wait here for up to 256 KiB of what was not read.
func (b *body) Close() error {
	b.abandon()
	return b.ReadCloser.Close()
}

// abandon reports whether a part of the body was not read. The server then does not read it either:
// it would wait for up to 256 KiB before it sends the response.
func (b *body) abandon() bool {
	if b == nil || b.ended {
		return false
	}
	_ = b.control.SetReadDeadline(time.Unix(1, 0))
	return true
}
