package clients

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Packages lists the npm packages with their versions.
var Packages = map[string]string{
	"mem0ai":                            "3.3.1",
	"@modelcontextprotocol/conformance": "0.1.16",
	"@modelcontextprotocol/inspector":   "2.12.0",
	// an npm port of the reference validator of agentskills.io
	"skills-ref": "0.1.5",
}

// nodeVersion is installed from npm if the machine has an older version than minNode.
const nodeVersion, minNode = "22.23.3", 22

// npm is a folder with the installed packages.
type npm struct {
	folder string
	node   string // path of node
}

// install installs the packages with npm into a folder, without running their scripts.
func install(ctx context.Context, folder string, packages map[string]string, log io.Writer) (npm, error) {
	var names []string
	for name, version := range packages {
		names = append(names, name+"@"+version)
	}
	n := npm{folder: folder, node: "node"}
	if major := nodeMajor(ctx); major < minNode {
		own := fmt.Sprintf("node-%s-%s", runtime.GOOS, strings.Replace(runtime.GOARCH, "amd64", "x64", 1))
		fmt.Fprintf(log, "node %d is too old; installing %s@%s\n", major, own, nodeVersion)
		names = append(names, own+"@"+nodeVersion)
		n.node = filepath.Join(folder, "node_modules", own, "bin", "node")
	}
	slices.Sort(names)
	fmt.Fprintln(log, "npm install", strings.Join(names, " "))
	c := exec.CommandContext(ctx, "npm", append(
		[]string{"install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund",
			"--loglevel=error"}, names...)...)
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		return n, fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return n, nil
}

// nodeMajor returns the major version of the machine's node, or 0 if there is none.
func nodeMajor(ctx context.Context) (major int) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err == nil {
		_, _ = fmt.Sscanf(string(out), "v%d", &major) // invalid output leaves 0
	}
	return major
}

// command returns a command that runs a script with node in the folder, with the machine's
// PATH and the variables of environ.
func (n npm) command(ctx context.Context, environ []string, script string, args ...string) *exec.Cmd {
	node, err := exec.LookPath(n.node)
	if err != nil {
		node = n.node
	}
	c := exec.CommandContext(ctx, node, append([]string{script}, args...)...)
	c.Dir = n.folder
	c.Env = append([]string{"PATH=" + filepath.Dir(node) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + n.folder}, environ...)
	return c
}

// module returns the path of a file in a package.
func (n npm) module(parts ...string) string {
	return filepath.Join(append([]string{n.folder, "node_modules"}, parts...)...)
}
