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

// Options configures a run.
type Options struct {
	Program string    // path of the cairn binary
	Log     io.Writer // progress messages
}

// The clients, in the order in which they run.
const (
	mem0        = "mem0ai"
	conformance = "mcp conformance"
	inspector   = "mcp inspector"
	skillsRef   = "agent skills"
)

var kinds = map[string]func(context.Context, npm, *server) ([]Row, error){
	mem0: runMem0, conformance: runConformance, inspector: runInspector, skillsRef: runSkills,
}

// Run installs the clients, starts a gateway and runs all clients against it.
func Run(ctx context.Context, o Options) (out Result, err error) {
	folder, err := os.MkdirTemp("", "cairn-clients")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(folder)
	// If this process is root, Postgres runs as another user and stores its data in this folder.
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

// runMem0 makes all calls of mem0's client.
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
			continue // a message of the client for users
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

// mem0Least is the number of calls in mem0.mjs.
const mem0Least = 19
