package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"cairn/internal/domain/fault"
)

// usageError is an error in the arguments or flags of a command.
type usageError struct{ error }

// UsageError marks an error in the arguments or flags of a command.
func UsageError(err error) error { return usageError{err} }

// stopped is the error of a command that waited when the user interrupted it. What it waited for continues.
type stopped struct{ what, command string }

func (e stopped) Error() string {
	return fmt.Sprintf("interrupted; %s continues: %s", e.what, e.command)
}

// waited returns the error of waiting, and stopped if the user has interrupted it.
func waited(ctx context.Context, err error, what, command string) error {
	if err != nil && ctx.Err() != nil {
		return stopped{what, command}
	}
	return err
}

// exitInterrupted is the exit code of a command that the user has interrupted, as shells use it.
const exitInterrupted = 130

// PrintError prints the error of a command, as JSON if output is "json", and returns its exit code.
func PrintError(w io.Writer, program, output string, err error) int {
	f := asFault(program, err)
	if output == "json" {
		problem := map[string]any{}
		maps.Copy(problem, f.Extra)
		problem["code"], problem["message"], problem["hint"] = f.Code, f.Error(), f.Hint
		problem["retryable"] = fault.Table[f.Code].Retryable
		line, _ := json.Marshal(map[string]any{"error": problem})
		fmt.Fprintln(w, string(line))
	} else {
		fmt.Fprintf(w, "%s: %s [%s]\n  hint: %s\n", program, f.Error(), f.Code, f.Hint)
	}
	return fault.Table[f.Code].Exit
}

// unknownCommand reports whether err is that of an unknown command, and below which command. Cobra has no error type
// for it.
func unknownCommand(err error) (at string, unknown bool) {
	line, _, _ := strings.Cut(err.Error(), "\n")
	_, at, _ = strings.Cut(line, `" for `)
	return strings.Trim(at, `"`), strings.HasPrefix(line, "unknown command")
}

func asFault(program string, err error) *fault.Error {
	var u usageError
	if errors.As(err, &u) {
		return fault.New(fault.InvalidArgument, u.Error(), "run the command with --help to see its arguments and "+
			"flags")
	}
	if at, unknown := unknownCommand(err); unknown {
		return fault.New(fault.InvalidArgument, err.Error(),
			"run `"+cmp.Or(at, program)+" --help` for the list of commands")
	}
	return fault.From(err)
}
