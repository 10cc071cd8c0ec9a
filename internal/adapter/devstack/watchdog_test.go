package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func shell(script string) command {
	return command{name: "shell", args: []string{"/bin/sh", "-c", script}, env: os.Environ(), dir: "/", account: self(),
		gentle: "TERM", patience: 200 * time.Millisecond, hard: "KILL"}
}

func TestRunGivesOutputAndFailure(t *testing.T) {
	t.Parallel()
	if output, err := run(t.Context(), shell("echo words")); err != nil || output != "words\n" {
		t.Errorf("got %q, %v", output, err)
	}
	if _, err := run(t.Context(), shell("echo the reason >&2; exit 3")); err == nil ||
		!strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("got %v", err)
	}
}

func TestStopIsGentleThenHard(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"gentle": `trap 'exit 0' TERM; echo up >"$0"; while :; do sleep 0.05; done`,
		"hard":   `trap '' TERM; echo up >"$0"; while :; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			up := filepath.Join(folder, "up")
			c := shell(script)
			c.args, c.remove = append(c.args, up), folder
			g, err := guard(c)
			if err != nil {
				t.Fatal(err)
			}
			until(t, patience, "the program starts", func() bool { return exists(up) })
			g.stop()
			if exists(folder) {
				t.Error("the throw-away folder is still there")
			}
		})
	}
}

func TestSignalIsPassedOnAndTheFolderStays(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c := shell("sleep 1000")
	c.remove = folder
	g, err := guard(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.end(t.Context(), "KILL"); err != nil {
		t.Fatal(err)
	}
	if !exists(folder) {
		t.Error("the folder was removed although nothing died or closed")
	}
}

func TestInterruptedInstallationStopsItsChildren(t *testing.T) {
	t.Parallel()
	up := filepath.Join(t.TempDir(), "up")
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(`sleep 1234.5 & echo up >"$0"; sleep 1234.5`)
	c.args = append(c.args, up)
	go func() {
		for !exists(up) {
			time.Sleep(lockPoll)
		}
		cancel()
	}()
	if _, err := run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	until(t, orphanLimit, "the children end", func() bool { return len(processes(t, "sleep\x001234.5")) == 0 })
}
