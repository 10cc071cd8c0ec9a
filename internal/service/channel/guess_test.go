package channel_test

import (
	"fmt"
	"testing"

	"cairn/internal/domain/fault"
)

// A user who guesses codes of others is refused for a minute, and no one else is.
func TestLinkCodesAreThrottledByTheirSender(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	guess := func(user string, i int) fault.Code {
		_, err := d.service.Link(t.Context(), "desk", user, fmt.Sprintf("WRONG%03d", i))
		return fault.CodeOf(err)
	}
	for i := range 20 {
		if code := guess("ada", i); code != fault.NotFound {
			t.Fatalf("guess %d: %s", i+1, code)
		}
	}
	if code := guess("ada", 20); code != fault.RateLimited {
		t.Errorf("guess 21: %s", code)
	}
	if code := guess("ben", 0); code != fault.NotFound {
		t.Errorf("the first guess of another user: %s", code)
	}
}
