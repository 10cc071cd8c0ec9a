package app_test

import (
	"context"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// A worker that starts while a server is down works when the server is back.
func TestServeWaitsForServersThatAreAway(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, away := range map[string]func(*testing.T, *config.Config) *testkit.Proxy{
		"Temporal": func(t *testing.T, c *config.Config) *testkit.Proxy {
			p := testkit.NewProxy(t, "tcp", c.TemporalAddress)
			c.TemporalAddress = p.Address()
			return p
		},
		"Postgres": func(t *testing.T, c *config.Config) *testkit.Proxy {
			p, url := testkit.DatabaseProxy(t, c.DatabaseURL)
			c.DatabaseURL = url
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.OpenIdle(t)
			b.ScriptR1()
			c := b.Config
			server := away(t, &c)
			server.Cut()
			said := make(lines, 100)
			ended := serve(t, c, said)
			said.await(t, ended)
			said.await(t, ended) // and does not give up after one attempt
			ref := b.StartDistill()
			server.Restore()

			if r := b.Wait(ref); r.Outcome != run.Completed {
				t.Errorf("ended as %q (%s)", r.Outcome, r.Reason)
			}
		})
	}
}

// The program waits like the function.
func TestAWorkerProcessOutlivesAStartWithoutTemporal(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.ScriptR1()
	temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
	temporal.Cut()
	b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
	testkit.Eventually(t, "the worker has looked for Temporal again and again", func() bool {
		return temporal.Refused() > 5
	})
	ref := b.StartDistill()
	temporal.Restore()
	if r := b.Wait(ref); r.Outcome != run.Completed {
		t.Errorf("ended as %q (%s)", r.Outcome, r.Reason)
	}
}

// Problems that an operator must solve end the worker.
func TestServeEndsForWhatAnOperatorMustMend(t *testing.T) {
	t.Parallel()
	whole := apptest.OpenIdle(t).Config
	for name, spoil := range map[string]func(*testing.T, *config.Config){
		"no database": func(_ *testing.T, c *config.Config) { c.DatabaseURL = "" },
		"no Temporal": func(_ *testing.T, c *config.Config) { c.TemporalAddress = "" },
		"an empty database": func(t *testing.T, c *config.Config) {
			c.DatabaseURL = withDatabase(t, c.DatabaseURL, "template1")
		},
		"an unknown one": func(t *testing.T, c *config.Config) {
			c.DatabaseURL = withDatabase(t, c.DatabaseURL, "nowhere")
		},
		"unreadable prices":  func(_ *testing.T, c *config.Config) { c.Prices = "{" },
		"an unreadable base": func(_ *testing.T, c *config.Config) { c.BaseURL = "not a URL" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := whole
			spoil(t, &c)
			select {
			case err := <-serve(t, c, make(lines, 100)):
				if code := fault.CodeOf(err); code != fault.Misconfigured && code != fault.InvalidArgument {
					t.Errorf("ended with %v [%s]", err, code)
				}
			case <-time.After(time.Minute):
				t.Error("still there after a minute")
			}
		})
	}
}

// serve runs the worker in this process until the test ends.
func serve(t *testing.T, c config.Config, said lines) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ended <- app.Work(ctx, c, slog.New(said), app.Queues())
	}()
	t.Cleanup(func() { cancel(); <-gone })
	return ended
}

func withDatabase(t *testing.T, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	testkit.Must(t, err)
	u.Path = "/" + name
	return u.String()
}

// lines is a log whose warnings of waiting can be awaited.
type lines chan string

func (l lines) await(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case <-l:
	case err := <-ended:
		t.Fatalf("the worker has ended: %v", err)
	case <-time.After(60 * time.Second):
		t.Fatal("the worker does not log that it waits")
	}
}

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	if r.Message == app.Waiting {
		select {
		case l <- r.Message:
		default: // the channel is large enough for each test
		}
	}
	return nil
}
