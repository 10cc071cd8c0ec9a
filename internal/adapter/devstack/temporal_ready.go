package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.temporal.io/sdk/client"
)

// errEnded reports that the server ended while it was starting.
var errEnded = errors.New("the server ended")

// awaitReady polls until the server responds, has the search attributes and serves the UI.
func (s *devServer) awaitReady(ctx context.Context) error {
	for {
		version, err := s.ready(ctx)
		if s.running.gone() {
			return errEnded
		}
		if err == nil {
			s.version = version
			return nil
		}
		select {
		case <-s.running.exited:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("wait for the Temporal server: %w", err)
		case <-time.After(readyPoll):
		}
	}
}

func (s *devServer) ready(ctx context.Context) (string, error) {
	temporal, version, err := dialTemporal(ctx,
		client.Options{HostPort: s.address(), Namespace: defaultNamespace, Logger: silent})
	if err != nil {
		return "", err
	}
	defer temporal.Close()
	missing, err := missingAttributes(ctx, temporal, defaultNamespace, s.attributes)
	if err != nil {
		return "", err
	}
	// The command line option has an effect only when the namespace is created.
	if err := addAttributes(ctx, temporal, defaultNamespace, missing); err != nil {
		return "", err
	}
	if s.lasting {
		err = answers(ctx, s.at.UI)
	}
	return version, err
}

func answers(ctx context.Context, port int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", loopbackAddress(port))
	if err != nil {
		return fmt.Errorf("reach the Temporal UI: %w", err)
	}
	return conn.Close()
}

// clearUnfinished removes a state file whose first start never succeeded. The server creates its
// tables only if the file does not exist.
func (s *devServer) clearUnfinished() error {
	if !exists(s.stateFile()) || exists(s.stateFile()+".ready") {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(s.stateFile() + suffix); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove an incomplete state file of Temporal: %w", err)
		}
	}
	return nil
}
