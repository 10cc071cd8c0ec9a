package apiclient

import (
	"context"
	"errors"
	"time"
)

// ErrSocketBroken means that a connection ended, and that another one can be opened.
var ErrSocketBroken = errors.New("the connection broke")

// healthyTime is the time after which a connection that breaks is opened again at once. After a shorter one, the caller
// waits first.
const healthyTime = 10 * time.Second

// KeepSocket runs one session after another while they end with ErrBroken. It ends with ctx, with another error, and
// after a
// session that was too short to try again at once.
func KeepSocket(ctx context.Context, session func(context.Context) error) error {
	for {
		began := time.Now()
		err := session(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, ErrSocketBroken), time.Since(began) < healthyTime:
			return err
		}
	}
}
