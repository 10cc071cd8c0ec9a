package distill

import (
	"sync"

	"cairn/internal/domain/llm"
)

// Values of Spec.Cache: what is known about the endpoint before its first reply.
const (
	CacheOff      = "off"      // requests are not meant for a cache
	CacheExpected = "expected" // the endpoint caches marked prefixes
	CacheUnknown  = ""         // its replies show whether it caches
)

// Limits of observations.
const (
	minObserved = 2_000 // input tokens; endpoints do not cache short prefixes
	hitShare    = 4     // a hit is at least one part in so many of the input: more than the system message
)

// caches remembers which models have read shared windows from a cache.
type caches struct {
	mu   sync.Mutex
	hits map[string]bool
}

// note records the usage of a request with a shared window. first is the one that can only write to a cache.
func (c *caches) note(model string, u llm.Usage, first bool) {
	if u.Estimated || u.Input < minObserved {
		return
	}
	hit := u.Cached*hitShare >= u.Input
	if first {
		if hit = hit || u.Written*hitShare >= u.Input; !hit {
			return // not every endpoint reports what it writes
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hits == nil {
		c.hits = map[string]bool{}
	}
	c.hits[model] = hit
}

// hit reports whether a model reads from a cache. known is false before the first observation.
func (c *caches) hit(model string) (hit, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hit, known = c.hits[model]
	return hit, known
}

// shares reports whether requests of a role show whole windows, because the endpoint has them in its cache.
func (s *Service) shares(j job, role string) bool {
	model := j.spec.Models[role]
	if j.spec.Cache == CacheOff || model != j.spec.Models["segment"] {
		return false
	}
	if hit, known := s.caches.hit(model); known {
		return hit
	}
	return j.spec.Cache == CacheExpected
}
