package clients

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options say what is run.
type Options struct {
	Program string    // of the command line
	Log     io.Writer // progress
}

// The clients, in the order in which they are run.
const (
	mem0        = "mem0ai"
	conformance = "mcp conformance"
	inspector   = "mcp inspector"
	skillsRef   = "agent skills"
)

var kinds = map[string]func(context.Context, npm, *server) ([]Row, error){
	mem0: runMem0, conformance: runConformance, inspector: runInspector, skillsRef: runSkills,
}

// Run installs the clients, starts a gateway and runs them all.
func Run(ctx context.Context, o Options) (out Result, err error) {
	folder, err := os.MkdirTemp("", "cairn-clients")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(folder)
	// Postgres, which another user runs when we are root, keeps its data below
	if err := os.Chmod(folder, 0o755); err != nil {
		return out, err
	}
	packages, home := filepath.Join(folder, "npm"), filepath.Join(folder, "home")
	for _, one := range []string{packages, home} {
		if err := os.Mkdir(one, 0o755); err != nil {
			return out, err
		}
	}
	n, err := install(ctx, packages, o.Log)
	if err != nil {
		return out, err
	}
	s, err := serve(ctx, o.Program, home, o.Log)
	if err != nil {
		return out, err
	}
	defer s.stop()
	for _, client := range []string{mem0, conformance, inspector, skillsRef} {
		rows, err := kinds[client](ctx, n, s)
		out.Rows = append(out.Rows, rows...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", client, err)
		}
	}
	return out, nil
}

//go:embed mem0.mjs
var mem0Calls []byte

// runMem0 has mem0's client make all its calls.
func runMem0(ctx context.Context, n npm, s *server) (out []Row, err error) {
	script := filepath.Join(n.folder, "mem0.mjs")
	if err := os.WriteFile(script, mem0Calls, 0o644); err != nil {
		return nil, err
	}
	c := n.command(ctx, []string{"CAIRN_URL=" + s.url, "CAIRN_KEY=" + s.key, "MEM0_TELEMETRY=false"}, script)
	var said, trouble bytes.Buffer
	c.Stdout, c.Stderr = &said, &trouble
	ended := c.Run()
	for lines := bufio.NewScanner(&said); lines.Scan(); {
		var row struct {
			Call, Detail string
			OK           bool
			MS           int64
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			continue // the client tells people something
		}
		one := Row{Client: mem0, Call: row.Call, State: OK, Took: time.Duration(row.MS) * time.Millisecond,
			Detail: row.Detail}
		if !row.OK {
			one.State = Failed
		}
		out = append(out, one)
	}
	if ended != nil {
		return out, fmt.Errorf("%w\n%s", ended, &trouble)
	}
	if len(out) < mem0Least {
		return out, fmt.Errorf("only %d calls were made", len(out))
	}
	return out, nil
}

// mem0Least is how many calls mem0.mjs makes.
const mem0Least = 19
