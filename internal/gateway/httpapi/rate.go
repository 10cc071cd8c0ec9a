package httpapi

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"cairn/internal/domain/access"
)

// burst is the number of seconds whose requests may arrive at once.
const burst = 2

// limitersKept is the maximum number of keys with a limiter in memory. That of the key used least recently is
// forgotten.
const limitersKept = 10_000

// rates limits the requests of each key in this process, or their bytes. Two gateways together allow twice
// the rate.
type rates struct {
	perSecond float64 // 0 means no limit
	least     int     // units that may come at once, whatever the limit

	mu   sync.Mutex // of adding a key
	keys *lru.Cache[keyNumber, *rate.Limiter]
}

// keyNumber identifies a key; key IDs are unique within a workspace.
type keyNumber struct{ workspace, key int64 }

// newRates returns a limit per second. The burst is at least least.
func newRates(perSecond float64, least int) *rates {
	keys, _ := lru.New[keyNumber, *rate.Limiter](limitersKept) // fails only for a size of 0
	return &rates{perSecond: perSecond, least: least, keys: keys}
}

// take consumes n units of h's key, or returns how long to wait for them. More than the burst counts as the burst.
func (r *rates) take(h access.Principal, n int) (wait time.Duration) {
	if r.perSecond == 0 {
		return 0
	}
	l := r.of(keyNumber{h.Workspace.ID, h.Key})
	turn := l.ReserveN(time.Now(), min(n, l.Burst()))
	if wait = turn.Delay(); wait > 0 {
		turn.Cancel() // a refused request consumes nothing
	}
	return wait
}

func (r *rates) of(k keyNumber) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.keys.Get(k)
	if !ok {
		l = rate.NewLimiter(rate.Limit(r.perSecond), max(r.least, int(burst*r.perSecond)))
		r.keys.Add(k, l)
	}
	return l
}
