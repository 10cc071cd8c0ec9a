package production

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is a page of instructions in Markdown.
type Page struct{ path, text string }

// ReadPage reads a page. Path is relative to root, the folder of the module.
func ReadPage(root, path string) (Page, error) {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return Page{}, fmt.Errorf("read the runbook: %w", err)
	}
	return Page{path, string(text)}, nil
}

// RepositoryRoot returns the folder of the module that contains the working directory.
func RepositoryRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the folder of the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	shell   = regexp.MustCompile("(?s)```sh\n(.*?)```")
)

// Blocks returns the blocks of commands between a heading and the next one. It fails unless there are
// want of them, because its caller gives each block a meaning.
func (p Page) Blocks(under string, want int) ([]string, error) {
	var blocks []string
	for _, at := range heading.FindAllStringSubmatchIndex(p.text, -1) {
		if p.text[at[2]:at[3]] != under {
			continue
		}
		section := p.text[at[1]:]
		if next := heading.FindStringIndex(withoutComments(section)); next != nil {
			section = section[:next[0]]
		}
		for _, block := range shell.FindAllStringSubmatch(section, -1) {
			blocks = append(blocks, block[1])
		}
	}
	if len(blocks) != want {
		return nil, fmt.Errorf("%s has %d blocks of commands under %q, want %d", p.path, len(blocks), under, want)
	}
	return blocks, nil
}

// withoutComments blanks blocks, whose comments look like headings.
func withoutComments(section string) string {
	return shell.ReplaceAllStringFunc(section, func(block string) string { return strings.Repeat(" ", len(block)) })
}

// PageRunner runs commands.
type PageRunner struct {
	Folder  string   // where they run
	Environ []string // the whole environment
	// Command returns the command of a program; nil means exec.CommandContext.
	Command func(ctx context.Context, program string, arguments ...string) *exec.Cmd
}

// Run runs the commands of a block with bash, and returns what they print.
func (r PageRunner) Run(ctx context.Context, block string) (string, error) {
	command := r.Command
	if command == nil {
		command = exec.CommandContext
	}
	c := command(ctx, "bash", "-euo", "pipefail", "-c", block)
	c.Dir, c.Env = r.Folder, r.Environ
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s\n%w: %s", strings.TrimSpace(block), err, out)
	}
	return string(out), nil
}
