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

// OwnServers refuses an environment that names servers: a test or a bench that
// does what does says to its servers starts them itself.
func OwnServers(does string) error {
	if os.Getenv("DATABASE_URL") == "" && os.Getenv("TEMPORAL_ADDRESS") == "" {
		return nil
	}
	return fault.New(fault.Misconfigured, "the environment names servers, and this "+does,
		"unset DATABASE_URL and TEMPORAL_ADDRESS: it starts its own")
}

// Folder makes a folder: with a short path, for sockets, and open to the account
// that runs Postgres for root.
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

// Servers are where an experiment's Cairn works, and its folder.
type Servers struct{ Database, Temporal, Namespace, Folder string }

// Settings are the environment of a worker and of the gateway's side: errors are
// logged alone, nothing is swept by itself, and more has the last word.
func (s Servers) Settings(more ...string) []string {
	return append([]string{"DATABASE_URL=" + s.Database, "TEMPORAL_ADDRESS=" + s.Temporal,
		"TEMPORAL_NAMESPACE=" + s.Namespace, "CAIRN_HOME=" + s.Folder,
		"CAIRN_LOG=error", "CAIRN_STOP_TIMEOUT=2s", "CAIRN_SWEEP_EVERY=0s"}, more...)
}

// Scripted are the settings that have an endpoint at url answer for every model.
func Scripted(url string) []string {
	return []string{"OPENAI_BASE_URL=" + url, "OPENAI_API_KEY=none", "CAIRN_MODEL=scripted"}
}

// OpenApp opens the gateway's side with settings and nothing that the
// environment says. What the SDK says about workers and servers that are away is
// what is wanted here, and is not logged.
func OpenApp(ctx context.Context, settings []string) (*app.App, error) {
	c, err := config.Load(append([]string{"CAIRN_CONFIG=" + os.DevNull}, settings...), nil)
	if err != nil {
		return nil, err
	}
	return app.Open(ctx, c, slog.New(slog.DiscardHandler))
}

// CloseStacks ends servers that were started; nil is none.
func CloseStacks(stacks ...*devstack.Stack) (errs []error) {
	for _, s := range stacks {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errs
}
