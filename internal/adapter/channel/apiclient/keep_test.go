package apiclient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/adapter/channel/apiclient"
)

func TestKeepOpensBrokenConnectionsAgain(t *testing.T) {
	t.Parallel()
	other := errors.New("refused")
	for name, c := range map[string]struct {
		lives []time.Duration
		last  error
		want  error
	}{
		"after a short one it ends": {[]time.Duration{time.Minute, time.Second}, apiclient.ErrSocketBroken,
			apiclient.ErrSocketBroken},
		"another error ends it":      {[]time.Duration{time.Minute, time.Minute}, other, other},
		"a canceled context ends it": {[]time.Duration{time.Minute, 2 * time.Hour}, nil, context.DeadlineExceeded},
		"also if the connection broke": {[]time.Duration{2 * time.Hour}, apiclient.ErrSocketBroken,
			context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			n := 0
			err := apiclient.KeepSocket(ctx, func(context.Context) error {
				time.Sleep(c.lives[n])
				if n++; n == len(c.lives) {
					return c.last
				}
				return fmt.Errorf("read: %w", apiclient.ErrSocketBroken)
			})
			if !errors.Is(err, c.want) || n != len(c.lives) {
				t.Errorf("%s: %v after %d sessions", name, err, n)
			}
		})
	}
}
