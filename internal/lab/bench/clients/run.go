package clients

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"cairn/internal/lab/bench/ground"
)

// Options configures a run.
type Options struct {
	Program string    // path of the cairn binary
	Log     io.Writer // progress messages
}

// The clients, in the order in which they run.
const (
	mem0        = "mem0ai 3.3.1 (npm)"
	conformance = "mcp conformance"
	inspector   = "mcp inspector"
	skillsRef   = "agent skills"
)

var kinds = map[string]func(context.Context, npm, *ground.Gateway) ([]Row, error){
	mem0: runMem0, conformance: runConformance, inspector: runInspector, skillsRef: runSkills,
}

// order is the order of the clients.
var order = append([]string{mem0}, append(mem0Pythons(), conformance, inspector, skillsRef)...)

// Run installs the clients, starts a gateway and runs all clients against it.
func Run(ctx context.Context, o Options) (out Result, err error) {
	out.Clients = len(order)
	folder, packages, home, err := folders()
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(folder)
	n, err := install(ctx, packages, Packages, o.Log)
	if err != nil {
		return out, err
	}
	s, err := ground.StartGateway(ctx, o.Program, home, o.Log)
	if err != nil {
		return out, err
	}
	defer s.Stop()
	for _, client := range order {
		rows, err := run(ctx, client, n, s, o.Log)
		out.Rows = append(out.Rows, rows...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", client, err)
		}
	}
	return out, nil
}

func run(ctx context.Context, client string, n npm, s *ground.Gateway, log io.Writer) ([]Row, error) {
	if work, known := kinds[client]; known {
		return work(ctx, n, s)
	}
	return runMem0Python(ctx, client, s, log)
}

// folders makes a temporary folder with one for packages and one for the gateway.
func folders() (folder, packages, home string, err error) {
	if folder, err = os.MkdirTemp("", "cairn-clients"); err != nil {
		return "", "", "", err
	}
	packages, home = filepath.Join(folder, "packages"), filepath.Join(folder, "home")
	// If this process is root, Postgres runs as another user and stores its data in this folder.
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(packages, 0o755), os.Mkdir(home, 0o755))
	return folder, packages, home, err
}

//go:embed mem0.mjs
var mem0Calls []byte

// runMem0 makes all calls of mem0's client.
func runMem0(ctx context.Context, n npm, s *ground.Gateway) (out []Row, err error) {
	script := filepath.Join(n.folder, "mem0.mjs")
	if err := os.WriteFile(script, mem0Calls, 0o644); err != nil {
		return nil, err
	}
	c := n.command(ctx, []string{"CAIRN_URL=" + s.URL, "CAIRN_KEY=" + s.Key, "MEM0_TELEMETRY=false"}, script)
	if out, err = calls(mem0, c, rowsOf); err != nil {
		return out, err
	}
	if len(out) < mem0Least {
		return out, fmt.Errorf("only %d calls were made", len(out))
	}
	return out, nil
}

// rowsOf reads the lines of a script.
func rowsOf(client string, said io.Reader) (out []Row) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		var row struct { // a script says ok, or the state
			Call, Detail, State string
			OK                  bool
			MS                  int64
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			continue // a message of the client for users
		}
		one := Row{Client: client, Call: row.Call, State: OK, Took: time.Duration(row.MS) * time.Millisecond,
			Detail: row.Detail}
		switch {
		case row.State == NotOffered:
			one.State = NotOffered
		case !row.OK && row.State != "ok":
			one.State = Failed
		}
		out = append(out, one)
	}
	return out
}

// mem0Least is the number of calls in mem0.mjs.
const mem0Least = 33
