package httpapi

import (
	"cairn/internal/service/apikey"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// burst is how many seconds' worth of requests may come at once.
const burst = 2

// limitersKept are as many keys as are told apart at once.
const limitersKept = 10_000

// rates bounds how often each key asks, in this process. Two gateways let twice
// as much through.
type rates struct {
	perSecond float64 // 0 means no bound

	mu   sync.Mutex
	keys map[keyNumber]*rate.Limiter
}

// keyNumber is a key's number, which its workspace gives.
type keyNumber struct{ workspace, key int64 }

func newRates(perSecond float64) *rates {
	return &rates{perSecond: perSecond, keys: map[keyNumber]*rate.Limiter{}}
}

// take spends one request of h's key, or tells how long to wait for one.
func (r *rates) take(h apikey.Principal) (wait time.Duration) {
	if r.perSecond == 0 {
		return 0
	}
	turn := r.of(keyNumber{h.Workspace.ID, h.Key}).Reserve()
	if wait = turn.Delay(); wait > 0 {
		turn.Cancel() // who is refused spends nothing
	}
	return wait
}

func (r *rates) of(k keyNumber) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.keys[k]
	if !ok {
		if len(r.keys) >= limitersKept { // forgetting is generous, and happens to be cheap
			clear(r.keys)
		}
		l = rate.NewLimiter(rate.Limit(r.perSecond), max(1, int(burst*r.perSecond)))
		r.keys[k] = l
	}
	return l
}
