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

// Packages are what is installed, by name and version.
var Packages = map[string]string{
	"mem0ai":                            "3.3.1",
	"@modelcontextprotocol/conformance": "0.1.16",
	"@modelcontextprotocol/inspector":   "2.12.0",
	// a port to npm of the reference validator of agentskills.io, by others
	"skills-ref": "0.1.5",
}

// nodeVersion is taken from npm when the machine's is older than the programs
// allow.
const nodeVersion, leastNode = "22.23.3", 22

// npm is a folder with the packages.
type npm struct {
	folder string
	node   string // the program
}

// install has npm put the packages into a folder. Nothing that they bring is run
// meanwhile.
func install(ctx context.Context, folder string, log io.Writer) (npm, error) {
	var names []string
	for name, version := range Packages {
		names = append(names, name+"@"+version)
	}
	n := npm{folder: folder, node: "node"}
	if major := nodeMajor(ctx); major < leastNode {
		own := fmt.Sprintf("node-%s-%s", runtime.GOOS, strings.Replace(runtime.GOARCH, "amd64", "x64", 1))
		fmt.Fprintf(log, "node is of version %d here; %s@%s is taken\n", major, own, nodeVersion)
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

// nodeMajor is the machine's version of node, 0 without one.
func nodeMajor(ctx context.Context) (major int) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err == nil {
		_, _ = fmt.Sscanf(string(out), "v%d", &major) // what is no version is none
	}
	return major
}

// command runs a script with node, in the folder, with the machine's PATH and
// what is added.
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

// module is the path of a file of a package.
func (n npm) module(parts ...string) string {
	return filepath.Join(append([]string{n.folder, "node_modules"}, parts...)...)
}
