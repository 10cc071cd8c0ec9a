// Package decoding bounds what this process decodes at once. A decoded text takes several times the memory of the text,
// so that requests of allowed sizes can take all memory together. Limits of one text count its elements before it is
// decoded; see the packages that decode.
//
//	release, err := decoding.Begin(ctx, len(body))
//	if err != nil {
//		return err
//	}
//	defer release()
package decoding

import (
	"context"

	"golang.org/x/sync/semaphore"

	"cairn/internal/domain/fault"
)

const (
	// Budget is the number of bytes that are decoded at once. A larger text is decoded alone.
	Budget = 48 << 20
	// small texts do not wait: there are too few connections for them to matter.
	small = 64 << 10
)

var decoded = semaphore.NewWeighted(Budget)

// Begin waits until a text of n bytes, after decompression, may be decoded. Call release when its objects are stored or
// not needed any more. A caller must not begin another one before.
func Begin(ctx context.Context, n int) (release func(), err error) {
	if n <= small {
		return func() {}, nil
	}
	weight := min(int64(n), Budget)
	if err := decoded.Acquire(ctx, weight); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "too much is being decoded", "send the request again")
	}
	return func() { decoded.Release(weight) }, nil
}

// MaxValues is the maximum number of values of a JSON text that is decoded as a whole.
const MaxValues = 250_000

// MaxDocument is the maximum number of values of a JSON text that is decoded only as far as it is read.
const MaxDocument = 1_000_000

// Values counts the values of a JSON text by their separators. The text can arrive in parts.
type Values struct {
	N               int
	quoted, escaped bool
}

// Add counts the values of the next part.
func (c *Values) Add(part []byte) {
	for _, b := range part {
		switch {
		case c.escaped:
			c.escaped = false
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
			c.escaped = b == '\\'
		case b == ',' || b == '{' || b == '[':
			c.N++
		}
	}
}

// Count returns the number of values of a JSON text.
func Count(text []byte) int {
	var c Values
	c.Add(text)
	return c.N
}
