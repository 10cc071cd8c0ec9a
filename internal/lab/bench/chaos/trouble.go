package chaos

import (
	"context"
	"time"
)

// Crash is the crash and restart of a server, at a fraction of ended runs.
type Crash struct {
	Server string        `json:"server"`
	At     float64       `json:"at"` // fraction of ended runs, 0–1
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
	do     func(ctx context.Context) error
}

// drawCrashes chooses the times of the crashes: one in the first half of the runs, one in the
// second.
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

// crash runs the crashes in order. The kills do not stop before them: if many runs end at
// the same time, two polls may skip over the time of a crash.
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
		// A crashed server is restarted even if the faults have ended meanwhile.
		if err := c.do(context.WithoutCancel(ctx)); err != nil {
			c.Error = err.Error()
		}
		c.Took = time.Since(began)
		e.result.Crashes = append(e.result.Crashes, c)
		e.Say("%s crashed at %.0f %% of the runs, back after %.1f s %s", c.Server, 100*c.At, c.Took.Seconds(), c.Error)
	}
}
