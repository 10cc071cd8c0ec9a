package app

import (
	"context"
	"path"
	"slices"
	"strings"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
	"cairn/internal/service/tools"
)

// withShell adds the tool that runs commands of skills if it is enabled. Other programs do not get
// this tool over MCP.
func (h *App) withShell(all []tools.Tool) ([]tools.Tool, error) {
	if !h.Config.Shell {
		return all, nil
	}
	if h.Shell == nil {
		shell := library.NewExecutor(library.ExecutorPorts{Library: h.Library, Allowed: Programs(h.Config)})
		h.Shell = shell
	}
	t, err := tools.Shell(h.Shell)
	return slices.Concat(all, []tools.Tool{t}), err
}

// Programs returns the programs that commands of skills can run in addition to scripts of the skill.
func Programs(c config.Config) (out []string) {
	for name := range strings.SplitSeq(c.ShellCommands, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// runCommands lets this process run commands of skills. If the machine cannot create a sandbox, it
// logs a warning, and each command fails: no command runs without a sandbox. It returns whether the
// machine can.
func (h *App) runCommands(ctx context.Context) (able bool, err error) {
	if h.Shell == nil {
		return false, fault.New(
			fault.Misconfigured,
			"queue "+contract.QueueSandbox+" requested, but commands of skills "+
				"are off",
			"set CAIRN_SHELL=on for this worker and for the workers that answer turns",
		)
	}
	groups, err := sandbox.OpenGroups()
	if err != nil {
		h.Log.Info("memory of commands is added up every 20 ms, no cgroup used", "reason", err)
	} else {
		h.Log.Info("memory of commands limited by cgroups")
	}
	h.Shell.Runner = sandboxes{Limits(h.Config), groups}
	if err := sandbox.Probe(ctx); err != nil {
		h.Log.Warn("sandbox not available, commands rejected", "error", err, "hint", fault.From(err).Hint)
		return false, nil
	}
	return true, nil
}

// Limits returns the resource limits of a command.
func Limits(c config.Config) sandbox.Limits {
	l := sandbox.DefaultLimits()
	l.Wall, l.CPU, l.Processes, l.Output = c.ShellTimeout, c.ShellTimeout, c.ShellProcesses, c.ShellOutputBytes
	l.Together, l.Disk = int64(c.ShellMemoryMB)<<20, int64(c.ShellDiskMB)<<20
	l.Memory, l.File = max(l.Memory, 2*l.Together), l.Disk // address space exceeds the memory in use
	return l
}

// sandboxes runs each job in its own sandbox.
type sandboxes struct {
	limits sandbox.Limits
	groups *sandbox.Groups // nil without cgroups
}

func (s sandboxes) Run(ctx context.Context, job library.CommandJob) (library.CommandOutcome, error) {
	var files []sandbox.File
	for _, f := range job.Files {
		files = append(files, sandbox.File{Path: f.Path, Content: []byte(f.Content),
			Executable: path.Dir(f.Path) == skill.Scripts})
	}
	o, err := s.groups.Run(ctx, sandbox.Job{Files: files, Argv: job.Argv, Limits: s.limits})
	return library.CommandOutcome{Exit: o.Exit, Stopped: string(o.Stopped), Stdout: o.Stdout, Stderr: o.Stderr,
		Elapsed: o.Elapsed}, err
}
