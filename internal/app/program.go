package app

import (
	"fmt"
	"io"

	"cairn/internal/adapter/filetext"
	"cairn/internal/adapter/sandbox"
	"cairn/internal/app/buildinfo"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

// QueuesUsage is the help text of the worker's flag for its task queues.
const QueuesUsage = "task queues to serve, separated by commas; add " + contract.QueueSandbox + " to run commands " +
	"of skills"

// PrintVersion prints the build information of this program on one line.
func PrintVersion(w io.Writer, program string) { fmt.Fprintln(w, program, buildinfo.Read()) }

// EnterChild turns this process into the first process of a sandbox, or into one that parses a file, if it was
// started as one. All programs call it first in main.
func EnterChild() {
	sandbox.Enter()
	filetext.Enter()
}

// ExitCode prints an error with its hint and returns the exit code of the program. Without an error
// it prints nothing and returns 0.
func ExitCode(w io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	f := fault.From(err)
	fmt.Fprintf(w, "%s: %s [%s]\n  hint: %s\n", program, f.Error(), f.Code, f.Hint)
	return fault.Table[f.Code].Exit
}
