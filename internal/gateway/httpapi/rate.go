package httpapi

import (
	"cairn/internal/service/apikey"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// burst is the number of seconds whose requests may arrive at once.
const burst = 2

// limitersKept is the maximum number of keys with a limiter in memory.
const limitersKept = 10_000

// rates limits the requests of each key in this process, or their bytes. Two gateways together allow twice
// the rate.
type rates struct {
	perSecond float64 // 0 means no limit
	least     int     // units that may come at once, whatever the limit

	mu   sync.Mutex
	keys map[keyNumber]*rate.Limiter
}

// keyNumber identifies a key; key IDs are unique within a workspace.
type keyNumber struct{ workspace, key int64 }

// newRates returns a limit per second. The burst is at least least.
func newRates(perSecond float64, least int) *rates {
	return &rates{perSecond: perSecond, least: least, keys: map[keyNumber]*rate.Limiter{}}
}

// take consumes n units of h's key, or returns how long to wait for them. More than the burst counts as the burst.
func (r *rates) take(h apikey.Principal, n int) (wait time.Duration) {
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
	l, ok := r.keys[k]
	if !ok {
		if len(r.keys) >= limitersKept { // dropping all limiters resets every limit, and is cheap
			clear(r.keys)
		}
		l = rate.NewLimiter(rate.Limit(r.perSecond), max(r.least, int(burst*r.perSecond)))
		r.keys[k] = l
	}
	return l
}
