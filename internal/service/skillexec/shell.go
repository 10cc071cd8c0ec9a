// Package skillexec runs commands of skills: a script that a skill brings along, or
// an allowed program over its files. There is no shell: words are words. What is
// run works on a fresh copy of the skill, in a sandbox, at most once for an
// operation id; that it was begun is written down first, so that after a crash
// its outcome is said to be unknown, and it is not begun again.
//
//	ran, err := s.Run(ctx, actor, shell.Args{Skill: "brew-tea", Command: "scripts/timer.py --minutes 3"})
package skillexec

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
	"cairn/internal/domain/ports"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// Args say what is to be run: a command line, or its words.
type Args struct {
	Skill      string   `json:"skill_name" jsonschema:"the skill whose files the command works on"`
	Command    string   `json:"command,omitempty" jsonschema:"one program with its arguments, without pipes, redirections or variables"`
	Parameters []string `json:"parameters,omitempty" jsonschema:"the same as a list of words, in place of command"`
}

// Ran is what a command that succeeded has said.
type Ran struct {
	Skill    string  `json:"skill_name"`
	Version  int     `json:"version"`
	ExitCode int     `json:"exit_code"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// Job is a command with its own copy of a skill's files.
type Job struct {
	Files []skill.File
	Argv  []string
}

// Outcome is what became of a job. Stopped is the limit that ended it.
type Outcome struct {
	Exit           int
	Stopped        string
	Stdout, Stderr string
	Elapsed        time.Duration
}

// Runner runs jobs in sandboxes. An error means that the job was not begun.
type Runner interface {
	Run(ctx context.Context, job Job) (Outcome, error)
}

// Ports are what the service works with.
type Ports struct {
	Library *library.Library
	Runner  Runner   // nil where commands are offered and not run: only sandboxed workers have one
	Allowed []string // programs
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("skillexec", map[string]any{"Library": p.Library})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Run runs a command. CommandRefused, OutOfScope, NotFound and InvalidArgument
// mean that nothing was begun; CommandFailed and LimitExceeded carry what was said
// until then; UnknownOutcome is a command that was begun before.
func (s *Service) Run(ctx context.Context, a agent.Actor, in Args) (out Ran, err error) {
	words, err := in.words()
	if err != nil {
		return out, err
	}
	copied, err := s.Library.Copy(ctx, a, in.Skill)
	if err != nil {
		return out, err
	}
	argv, err := plan(words, copied.Files, s.Allowed)
	if err != nil {
		return out, err
	}
	if s.Runner == nil {
		return out, fault.New(fault.Misconfigured, "this process runs no commands",
			"they are run by workers of the queue cairn-sandbox")
	}
	if err := s.begin(ctx, a, in); err != nil {
		return out, err
	}
	o, err := s.Runner.Run(ctx, Job{Files: copied.Files, Argv: argv})
	if err != nil {
		return out, settled(err)
	}
	out = Ran{Skill: copied.Name, Version: copied.Version, ExitCode: o.Exit, Stdout: plain(o.Stdout),
		Stderr: plain(o.Stderr), Seconds: float64(o.Elapsed.Milliseconds()) / 1000}
	return out, o.fault(out)
}

func (in Args) words() ([]string, error) {
	if (in.Command == "") == (len(in.Parameters) == 0) {
		return nil, fault.New(fault.InvalidArgument, "a call has a command or parameters", "send one of them")
	}
	if in.Command != "" {
		return Parse(in.Command)
	}
	for _, w := range in.Parameters {
		if strings.ContainsRune(w, 0) {
			return nil, fault.New(fault.InvalidArgument, "a parameter has a character that no program takes",
				"leave it out")
		}
	}
	return in.Parameters, nil
}

// begin writes down that the command is begun, once. Whoever finds it written is
// not the one to run it.
func (s *Service) begin(ctx context.Context, a agent.Actor, in Args) error {
	if a.Op == "" {
		return fault.New(fault.InvalidArgument, "a command needs an operation id", "run it in a conversation")
	}
	type begun struct {
		Begun string `json:"begun"`
	}
	mine, stored := begun{uuid.NewString()}, begun{}
	return s.Library.Store.WithLibrary(ctx, a.Workspace, func(ctx context.Context, tx library.Tx) error {
		raw, err := tx.Operations().Once(ctx, a.Op, in, func() (json.RawMessage, error) { return json.Marshal(mine) })
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &stored); err != nil {
			return fmt.Errorf("decode what was begun: %w", err)
		}
		if stored != mine {
			return fault.New(fault.UnknownOutcome,
				"the command was begun before and interrupted: nobody knows how far it came", "")
		}
		return nil
	})
}

// settled is why a command that is written down as begun was not: asking again
// would find it begun, so no error tells to.
func settled(err error) error {
	f := fault.From(err)
	if row := fault.Table[f.Code]; row.Retryable || f.Code == fault.Internal {
		return fault.Wrap(err, fault.UnknownOutcome, "the command could not be run", "")
	}
	return f
}

// fault is why a command has not succeeded, nil when it has.
func (o Outcome) fault(ran Ran) error {
	var f *fault.Error
	switch {
	case o.Stopped == StoppedCancelled:
		f = fault.New(fault.UnknownOutcome, "the command was interrupted", "")
	case o.Stopped != "":
		f = fault.New(fault.LimitExceeded, fmt.Sprintf(
			"the command went over its limit of %s and was ended after %.1f s", o.Stopped, ran.Seconds), "")
	case o.Exit != 0:
		f = fault.New(fault.CommandFailed, fmt.Sprintf("the command ended with exit code %d", o.Exit), "")
	default:
		return nil
	}
	return f.With("exit_code", o.Exit).With("stdout", ran.Stdout).With("stderr", ran.Stderr).
		With("seconds", ran.Seconds)
}

// StoppedCancelled is no limit: whoever waited has gone.
const StoppedCancelled = "cancelled"

// plain is output as text that every store and model takes.
func plain(output string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(output, string(unicode.ReplacementChar)))
}
