package ground

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"cairn/internal/adapter/devstack"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
)

// OwnServers returns an error if the environment names servers, because the test or
// experiment starts its own. Does is a part of the error message.
func OwnServers(does string) error {
	if os.Getenv("DATABASE_URL") == "" && os.Getenv("TEMPORAL_ADDRESS") == "" {
		return nil
	}
	return fault.New(fault.Misconfigured, "the environment names servers, but this "+does,
		"unset DATABASE_URL and TEMPORAL_ADDRESS; the experiment starts its own servers")
}

// Folder creates a temporary folder. Its path is short enough for sockets, and the account
// that runs Postgres for root can read it.
func Folder(name string) (string, error) {
	folder, err := os.MkdirTemp("/tmp", "cairn-"+name+"-")
	if err == nil {
		err = os.Chmod(folder, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", name, err)
	}
	return folder, nil
}

// Servers holds the addresses and the folder of an experiment's Cairn.
type Servers struct{ Database, Temporal, Namespace, Folder string }

// Settings returns the environment of a worker and of the gateway's side. Only errors are
// logged, and sweeps do not run automatically. Settings in more take precedence.
func (s Servers) Settings(more ...string) []string {
	return append([]string{"DATABASE_URL=" + s.Database, "TEMPORAL_ADDRESS=" + s.Temporal,
		"TEMPORAL_NAMESPACE=" + s.Namespace, "CAIRN_HOME=" + s.Folder,
		"CAIRN_LOG=error", "CAIRN_STOP_TIMEOUT=2s", "CAIRN_SWEEP_EVERY=0s"}, more...)
}

// Scripted returns the settings that use the endpoint at url for all models.
func Scripted(url string) []string {
	return []string{"OPENAI_BASE_URL=" + url, "OPENAI_API_KEY=none", "CAIRN_MODEL=scripted"}
}

// OpenApp opens the gateway's side with the given settings only, not with the environment. It
// does not log messages of the SDK about unreachable workers and servers, because experiments
// cause these on purpose.
func OpenApp(ctx context.Context, settings []string) (*app.App, error) {
	c, err := config.Load(append([]string{"CAIRN_CONFIG=" + os.DevNull}, settings...), nil)
	if err != nil {
		return nil, err
	}
	return app.Open(ctx, c, slog.New(slog.DiscardHandler))
}

// CloseStacks stops servers; it skips nil.
func CloseStacks(stacks ...*devstack.Stack) (errs []error) {
	for _, s := range stacks {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errs
}
