package apikey

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/domain/access"
)

func TestAKeyIsCachedForThreeSecondsOrUntilItExpires(t *testing.T) {
	t.Parallel()
	for left, memory := range map[time.Duration]time.Duration{0: 3 * time.Second, time.Second: time.Second,
		time.Minute: 3 * time.Second} { // 0 never expires
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var known cache[int]
				var revoked error
				looked := 0
				find := func(want int, code error) {
					t.Helper()
					_, err := known.find(access.KeyHash{}, func(access.KeyHash) (int, access.KeyUsage, error) {
						looked++
						return 7, access.KeyUsage{Left: left}, revoked
					})
					if !errors.Is(err, code) || looked != want {
						t.Errorf("%v after %d lookups, want %v after %d", err, looked, code, want)
					}
				}
				find(1, nil)
				revoked = errors.New("revoked")
				time.Sleep(memory - time.Nanosecond)
				find(1, nil)
				time.Sleep(time.Nanosecond)
				find(2, revoked)
				find(3, revoked)
				revoked = nil
				find(4, nil)
				find(4, nil)
			})
		})
	}
}

// The keys that are used are remembered, however many others there are.
func TestManyKeysDoNotDropTheCache(t *testing.T) {
	t.Parallel()
	var known cache[int]
	hash := func(n int) access.KeyHash { return sha256.Sum256(fmt.Append(nil, n)) }
	use := func(n int) {
		_, err := known.find(hash(n), func(access.KeyHash) (int, access.KeyUsage, error) {
			return n, access.KeyUsage{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20_000 {
		use(n)
		if n%100 == 0 {
			use(0)
		}
		if !known.has(hash(0)) || !known.has(hash(max(n-1, 0))) {
			t.Fatalf("keys in use are forgotten after %d others", n)
		}
	}
	if known.has(hash(1)) {
		t.Error("all keys are remembered: memory is not bounded")
	}
}
