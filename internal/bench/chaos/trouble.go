package chaos

import (
	"context"
	"time"
)

// Crash is a server's end and its new start, at a share of the ended runs.
type Crash struct {
	Server string        `json:"server"`
	At     float64       `json:"at"` // share of the runs that had ended, 0–1
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
	do     func(ctx context.Context) error
}

// drawCrashes chooses when the servers go down: one in the first half of the
// work, the other in the second.
func (e *experiment) drawCrashes() []Crash {
	early, late := 0.15+0.3*e.draw.Float64(), 0.55+0.3*e.draw.Float64()
	postgres := Crash{Server: "Postgres, crashed", At: early, do: func(ctx context.Context) error {
		return e.Stack.RestartPostgres(ctx, true)
	}}
	temporal := Crash{Server: "Temporal, killed", At: late, do: func(ctx context.Context) error {
		return e.Stack.RestartTemporal(ctx, true)
	}}
	if e.draw.IntN(2) == 0 {
		postgres.At, temporal.At = late, early
		return []Crash{temporal, postgres}
	}
	return []Crash{postgres, temporal}
}

// crash carries out the crashes in their order. Calm does not come before them:
// when many runs end at once, their shares may be passed between two looks.
func (e *experiment) crash(ctx context.Context, plan []Crash) {
	for _, c := range plan {
		for {
			n, err := e.ended(ctx)
			if all := float64(e.options.Distillations); err == nil && n >= int(c.At*all) {
				c.At = float64(n) / all
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(look):
			}
		}
		began := time.Now()
		// A server that was ended is started again even when calm has come meanwhile.
		if err := c.do(context.WithoutCancel(ctx)); err != nil {
			c.Error = err.Error()
		}
		c.Took = time.Since(began)
		e.result.Crashes = append(e.result.Crashes, c)
		e.Say("%s at %.0f %% of the runs, back after %.1f s %s", c.Server, 100*c.At, c.Took.Seconds(), c.Error)
	}
}
