package library

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// CommandArgs is a command: a command line or a list of words.
type CommandArgs struct {
	Skill      string   `json:"skill_name" jsonschema:"name of the skill whose files the command uses"`
	Command    string   `json:"command,omitempty" jsonschema:"one program with its arguments, without pipes, redirections or variables"`
	Parameters []string `json:"parameters,omitempty" jsonschema:"the command as a list of words, instead of command"`
}

// CommandResult is the output of a successful command.
type CommandResult struct {
	Skill    string  `json:"skill_name"`
	Version  int     `json:"version"`
	ExitCode int     `json:"exit_code"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// CommandJob is a command with its own copy of a skill's files.
type CommandJob struct {
	Files []skill.File
	Argv  []string
}

// CommandOutcome is the result of a job. Stopped is the limit that ended it.
type CommandOutcome struct {
	Exit           int
	Stopped        string
	Stdout, Stderr string
	Elapsed        time.Duration
}

// CommandRunner runs jobs in sandboxes. An error means that the job was not started.
type CommandRunner interface {
	Run(ctx context.Context, job CommandJob) (CommandOutcome, error)
}

// ExecutorPorts are the dependencies of the service.
type ExecutorPorts struct {
	Library *Library
	Runner  CommandRunner // nil except in sandboxed workers
	Allowed []string      // names of programs
}

// Executor runs commands of skills: a script of a skill, or an allowed program on its
// files. There is no shell. A command runs on a fresh copy of the skill in a sandbox, at most once
// per operation ID. Its start is recorded first: after a crash, its outcome is unknown and it is
// not started again.
//
//	ran, err := s.Run(ctx, actor, skillexec.Args{Skill: "brew-tea", Command: "scripts/timer.py --minutes 3"})
type Executor struct{ ExecutorPorts }

// NewExecutor returns a Service.
func NewExecutor(p ExecutorPorts) *Executor {
	return &Executor{ExecutorPorts: p}
}

// Run runs a command. CommandRefused, OutOfScope, NotFound and InvalidArgument mean that nothing
// was started. CommandFailed and LimitExceeded include the output so far. UnknownOutcome means that
// the command was started before.
func (s *Executor) Run(ctx context.Context, a agent.Actor, in CommandArgs) (out CommandResult, err error) {
	words, err := in.words()
	if err != nil {
		return out, err
	}
	copied, err := s.Library.Copy(ctx, a, in.Skill)
	if err != nil {
		return out, err
	}
	argv, err := execPlan(words, copied.Files, s.Allowed)
	if err != nil {
		return out, err
	}
	if s.Runner == nil {
		return out, fault.New(fault.Misconfigured, "this process does not run commands",
			"start a worker for the queue cairn-sandbox")
	}
	if err := s.begin(ctx, a, in); err != nil {
		return out, err
	}
	o, err := s.Runner.Run(ctx, CommandJob{Files: copied.Files, Argv: argv})
	if err != nil {
		return out, settled(err)
	}
	out = CommandResult{Skill: copied.Name, Version: copied.Version, ExitCode: o.Exit, Stdout: plain(o.Stdout),
		Stderr: plain(o.Stderr), Seconds: float64(o.Elapsed.Milliseconds()) / 1000}
	return out, o.fault(out)
}

func (in CommandArgs) words() ([]string, error) {
	if (in.Command == "") == (len(in.Parameters) == 0) {
		return nil, fault.New(
			fault.InvalidArgument,
			"call needs either command or parameters",
			"send exactly one of them",
		)
	}
	if in.Command != "" {
		return ParseCommand(in.Command)
	}
	for _, w := range in.Parameters {
		if strings.ContainsRune(w, 0) {
			return nil, fault.New(fault.InvalidArgument, "a parameter contains a NUL character", "remove the character")
		}
	}
	return in.Parameters, nil
}

// begin records the start of the command, once. It returns an error if the start is already recorded.
func (s *Executor) begin(ctx context.Context, a agent.Actor, in CommandArgs) error {
	if a.Op == "" {
		return fault.New(fault.InvalidArgument, "operation ID is required", "run it in a conversation")
	}
	type begun struct {
		Begun string `json:"begun"`
	}
	mine, stored := begun{uuid.NewString()}, begun{}
	return s.Library.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		raw, err := tx.Operations().Once(ctx, a.Op, in, func() (json.RawMessage, error) { return json.Marshal(mine) })
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &stored); err != nil {
			return fmt.Errorf("decode the recorded start: %w", err)
		}
		if stored != mine {
			return fault.New(fault.UnknownOutcome, "command interrupted: outcome unknown", "")
		}
		return nil
	})
}

// settled converts an error after the start was recorded. Retrying cannot help, so no such error
// may be retryable.
func settled(err error) error {
	f := fault.From(err)
	if row := fault.Table[f.Code]; row.Retryable || f.Code == fault.Internal {
		return fault.Wrap(err, fault.UnknownOutcome, "command could not be run", "")
	}
	return f
}

// fault returns the error of a command, nil if it succeeded.
func (o CommandOutcome) fault(ran CommandResult) error {
	var f *fault.Error
	switch {
	case o.Stopped == StoppedCancelled:
		f = fault.New(fault.UnknownOutcome, "command was interrupted", "")
	case o.Stopped != "":
		f = fault.New(fault.LimitExceeded, fmt.Sprintf(
			"command exceeded its limit of %s and was stopped after %.1f s", o.Stopped, ran.Seconds), "")
	case o.Exit != 0:
		f = fault.New(fault.CommandFailed, fmt.Sprintf("command failed with exit code %d", o.Exit), "")
	default:
		return nil
	}
	return f.With("exit_code", o.Exit).With("stdout", ran.Stdout).With("stderr", ran.Stderr).
		With("seconds", ran.Seconds)
}

// StoppedCancelled is not a limit: the caller canceled the command.
const StoppedCancelled = "cancelled"

// plain converts output to text that the store and models accept.
func plain(output string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(output, string(unicode.ReplacementChar)))
}
