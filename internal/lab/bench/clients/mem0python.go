package clients

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/lab/bench/ground"
)

// mem0Python are the versions of mem0's Python package whose clients are run, each with the least number of calls
// that its checks make.
var mem0Python = map[string]int{"2.2.1": 40, "1.0.0": 30, "0.1.118": 30}

// mem0Modes are the clients of each version.
var mem0Modes = []string{"sync", "async"}

// mem0Pythons names the clients, such as mem0ai 2.2.1 (Python, async).
func mem0Pythons() (out []string) {
	for version := range mem0Python {
		for _, mode := range mem0Modes {
			out = append(out, fmt.Sprintf("mem0ai %s (Python, %s)", version, mode))
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// runMem0Python makes all calls of a client for Python in a workspace of its own. The package stays in Cairn's cache.
func runMem0Python(ctx context.Context, client string, s *ground.Gateway, log io.Writer) ([]Row, error) {
	var version, mode string
	if _, err := fmt.Sscanf(strings.NewReplacer("(", "", ")", "", ",", "").Replace(client), "mem0ai %s Python %s",
		&version, &mode); err != nil {
		return nil, err
	}
	python, err := cachedPython(ctx, "mem0ai=="+version, log)
	if err != nil {
		return nil, err
	}
	script, err := filepath.Abs(filepath.Join("clients", "mem0", "check.py"))
	if err != nil {
		return nil, err
	}
	workspace := "mem0-" + strings.ReplaceAll(version, ".", "-") + "-" + mode
	var made struct{ Key string }
	if err := s.Run(ctx, &made, "keys", "create", "--workspace", workspace, "--name", "clients", "--scopes",
		"read,write,admin"); err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "mem0") // the client stores an ID there
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	check := exec.CommandContext(ctx, python, script, mode)
	check.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1",
		"MEM0_TELEMETRY=False", "CAIRN_URL=" + s.URL, "CAIRN_KEY=" + made.Key}
	rows, err := calls(client, check, rowsOf)
	failed := slices.ContainsFunc(rows, func(row Row) bool { return row.State == Failed })
	if failed { // a failed check ends with an error, too
		return rows, nil
	}
	if err == nil && len(rows) < mem0Python[version] {
		err = fmt.Errorf("only %d calls were made", len(rows))
	}
	return rows, err
}
