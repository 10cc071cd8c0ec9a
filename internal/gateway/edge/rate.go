package edge

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
)

// burst is the number of seconds whose requests may arrive at once.
const burst = 2

// limitersKept is the maximum number of keys with a limiter in memory. That of the key used least recently is
// forgotten.
const limitersKept = 10_000

// Holder is what limits count: a key of a workspace, the key of a gateway with one of its users, or a browser. The
// numbers of keys are unique for a kind and a workspace only.
type Holder struct {
	Kind          audit.Kind
	Workspace, ID int64
}

// HolderOf returns the holder of an admitted request.
func HolderOf(h access.Principal) Holder {
	if h.Account != "" {
		return Holder{audit.Operator, h.Workspace.ID, h.Key}
	}
	return Holder{audit.Key, h.Workspace.ID, h.Key}
}

// limit returns an error if a key has to wait.
func (e *Edge) limit(r *http.Request, h access.Principal, by Limit) error {
	wait, what := time.Duration(0), ""
	switch by {
	case ByNumber:
		wait, what = e.requests.take(HolderOf(h), 1), fmt.Sprintf("%v requests", e.RateLimit)
	case ByBytes:
		n := r.ContentLength
		if n < 0 {
			n = e.RequestBytes // a body of unknown length counts as the longest
		}
		wait, what = e.bytes.take(HolderOf(h), int(n)), fmt.Sprintf("%d bytes", e.BatchBytes)
	}
	if wait <= 0 {
		return nil
	}
	err := fault.Newf(fault.RateLimited, "rate limit exceeded: %s per second for this key", what)
	err.RetryAfter = wait
	return err
}

// rates limits the requests of each key in this process, or their bytes. Two gateways together allow twice
// the rate.
type rates struct {
	perSecond float64 // 0 means no limit
	least     int     // units that may come at once, whatever the limit

	mu   sync.Mutex // of adding a key
	keys *lru.Cache[Holder, *rate.Limiter]
}

// newRates returns a limit per second. The burst is at least least.
func newRates(perSecond float64, least int) *rates {
	keys, _ := lru.New[Holder, *rate.Limiter](limitersKept) // fails only for a size of 0
	return &rates{perSecond: perSecond, least: least, keys: keys}
}

// take consumes n units of h, or returns how long to wait for them. More than the burst counts as the burst.
func (r *rates) take(h Holder, n int) (wait time.Duration) {
	if r.perSecond == 0 {
		return 0
	}
	l := r.of(h)
	turn := l.ReserveN(time.Now(), min(n, l.Burst()))
	if wait = turn.Delay(); wait > 0 {
		turn.Cancel() // a refused request consumes nothing
	}
	return wait
}

func (r *rates) of(h Holder) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.keys.Get(h)
	if !ok {
		l = rate.NewLimiter(rate.Limit(r.perSecond), max(r.least, int(burst*r.perSecond)))
		r.keys.Add(h, l)
	}
	return l
}
