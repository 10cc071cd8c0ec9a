package apikey

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn/internal/domain/access"
)

// cache holds the holders of keys for keyMemory, and for less if a key expires before. Unknown keys
// are not cached. If it is full, it forgets the key that was used least recently. The zero value is ready for use.
type cache[T any] struct {
	made  sync.Once
	known *lru.Cache[access.KeyHash, cached[T]]
}

type cached[T any] struct {
	holder T
	until  time.Time
}

func (c *cache[T]) keys() *lru.Cache[access.KeyHash, cached[T]] {
	c.made.Do(func() { c.known, _ = lru.New[access.KeyHash, cached[T]](kept) }) // fails only for a size of 0
	return c.known
}

// find returns the holder of a key. If it is not cached, it calls look.
func (c *cache[T]) find(hash access.KeyHash, look func(access.KeyHash) (T, access.KeyUsage, error)) (T, error) {
	asked := time.Now() // before the lookup, so that a key revoked in the meantime is not cached for longer
	known, ok := c.keys().Get(hash)
	if ok && asked.Before(known.until) {
		return known.holder, nil
	}
	holder, usage, err := look(hash)
	if err != nil {
		return holder, err
	}
	memory := keyMemory
	if usage.Left > 0 {
		memory = min(memory, usage.Left)
	}
	c.keys().Add(hash, cached[T]{holder, asked.Add(memory)})
	return holder, nil
}

// see makes has report a key whose holders are cached for each user. find looks it up again.
func (c *cache[T]) see(hash access.KeyHash) { c.keys().Add(hash, cached[T]{}) }

// has reports whether a key is remembered, even if it must be looked up again.
func (c *cache[T]) has(hash access.KeyHash) bool { return c.keys().Contains(hash) }

func (c *cache[T]) drop(hash access.KeyHash) { c.keys().Remove(hash) }

const (
	writers     = 2               // uses that are recorded at once
	useDeadline = 5 * time.Second // for recording one
)

// recorder records the uses of keys in the background, so that no request waits for it. The zero
// value is ready for use.
type recorder struct {
	mu      sync.Mutex
	active  int
	closed  bool
	writing sync.WaitGroup
}

// record runs write in the background. If too many writes are active, it does nothing: the next
// lookup of the key tries again.
func (r *recorder) record(ctx context.Context, write func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.active >= writers {
		return
	}
	r.active++
	r.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useDeadline)
		defer cancel()
		_ = write(ctx) // the next lookup tries again
		r.mu.Lock()
		defer r.mu.Unlock()
		r.active--
	})
}

// wait waits for active writes. Later ones are not made.
func (r *recorder) wait() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.writing.Wait()
}
