package app

import (
	"context"
	"path"
	"slices"
	"strings"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/skillexec"
	"cairn/internal/service/tools"
)

// withShell adds the tool that runs commands of skills, where the deployment has
// workers for it. Other programs are not offered it.
func (h *App) withShell(all []tools.Tool) ([]tools.Tool, error) {
	if !h.Config.Shell {
		return all, nil
	}
	if h.Shell == nil {
		shell, err := skillexec.New(skillexec.Ports{Library: h.Library, Allowed: Programs(h.Config)})
		if err != nil {
			return nil, err
		}
		h.Shell = shell
	}
	t, err := tools.Shell(h.Shell)
	return slices.Concat(all, []tools.Tool{t}), err
}

// Programs are what commands of skills may run beside the skill's own scripts.
func Programs(c config.Config) (out []string) {
	for name := range strings.SplitSeq(c.ShellCommands, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// runCommands makes this process run commands. A machine that lets it make no
// sandbox is told now, and then to each call: none is run without one.
func (h *App) runCommands(ctx context.Context) error {
	if h.Shell == nil {
		return fault.New(fault.Misconfigured, "a sandboxed worker is asked for, and commands are off",
			"set CAIRN_SHELL=on here and where turns are answered")
	}
	h.Shell.Runner = sandboxes{Limits(h.Config)}
	if err := sandbox.Probe(ctx); err != nil {
		h.Log.Warn("every command will be refused", "error", err, "hint", fault.From(err).Hint)
	}
	return nil
}

// Limits of a command.
func Limits(c config.Config) sandbox.Limits {
	l := sandbox.DefaultLimits()
	l.Wall, l.CPU, l.Processes, l.Output = c.ShellTimeout, c.ShellTimeout, c.ShellProcesses, c.ShellOutputBytes
	l.Together, l.Disk = int64(c.ShellMemoryMB)<<20, int64(c.ShellDiskMB)<<20
	l.Memory, l.File = max(l.Memory, 2*l.Together), l.Disk // address space is more than what is used of it
	return l
}

// sandboxes runs jobs, each in one of its own.
type sandboxes struct{ limits sandbox.Limits }

func (s sandboxes) Run(ctx context.Context, job skillexec.Job) (skillexec.Outcome, error) {
	var files []sandbox.File
	for _, f := range job.Files {
		files = append(files, sandbox.File{Path: f.Path, Content: []byte(f.Content),
			Executable: path.Dir(f.Path) == skill.Scripts})
	}
	o, err := sandbox.Run(ctx, sandbox.Job{Files: files, Argv: job.Argv, Limits: s.limits})
	return skillexec.Outcome{Exit: o.Exit, Stopped: string(o.Stopped), Stdout: o.Stdout, Stderr: o.Stderr,
		Elapsed: o.Elapsed}, err
}
