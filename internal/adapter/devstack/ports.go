package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// ports are the ports of a Temporal server on the loopback interface.
type ports struct {
	Temporal int `json:"temporal"`
	UI       int `json:"ui"`
}

// defaultPorts are Temporal's default ports, which existing bookmarks use.
var defaultPorts = ports{Temporal: 7233, UI: 8233}

const loopback = "127.0.0.1"

// portsFile returns the file that stores the ports of a stack between its runs.
func portsFile(dir string) string { return filepath.Join(dir, "ports.json") }

// lastingPorts returns the ports of the last run if they are free, else the default ports, else any
// free ports.
func lastingPorts(dir string) (ports, error) {
	var last ports
	if text, err := os.ReadFile(portsFile(dir)); err == nil {
		_ = json.Unmarshal(text, &last) // an unreadable file is ignored
	}
	chosen, err := choosePorts(last, defaultPorts)
	if err != nil {
		return chosen, err
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		return chosen, fmt.Errorf("store the ports: %w", err)
	}
	return chosen, replaceFile(portsFile(dir), text, 0o644)
}

func choosePorts(wishes ...ports) (ports, error) {
	var chosen ports
	var err error
	var frontend, ui []int
	for _, wish := range wishes {
		if wish.Temporal > 0 && wish.UI > 0 {
			frontend, ui = append(frontend, wish.Temporal), append(ui, wish.UI)
		}
	}
	if chosen.Temporal, err = freePort(frontend, 0); err != nil {
		return chosen, err
	}
	chosen.UI, err = freePort(ui, chosen.Temporal)
	return chosen, err
}

// freePort returns the first free port of wishes, else a port that the system chooses. It never
// returns excluded.
func freePort(wishes []int, excluded int) (int, error) {
	for _, port := range append(wishes, 0, 0) {
		listener, err := net.Listen("tcp", loopbackAddress(port))
		if err != nil {
			continue
		}
		port = listener.Addr().(*net.TCPAddr).Port
		listener.Close()
		if port != excluded {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port on %s", loopback)
}

// portsLock keeps two stacks from choosing the same ports. It is held from the choice until the
// server listens.
func portsLock(ctx context.Context) *os.File {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	lock, err := lockFile(ctx, "/tmp/cairn-ports.lock")
	if err != nil {
		return nil // the server itself then reports a port that is in use
	}
	return lock
}

// loopbackAddress returns host:port of a port of the loopback interface.
func loopbackAddress(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// replaceFile writes a file atomically: a reader sees all of it or none.
func replaceFile(path string, text []byte, mode os.FileMode) error {
	part := path + ".part"
	if err := os.WriteFile(part, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
