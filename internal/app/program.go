package app

import (
	"fmt"
	"io"

	"cairn/internal/adapter/sandbox"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

// QueuesUsage describes the worker's flag that names its task queues.
const QueuesUsage = "task queues to serve, separated by commas; " + contract.QueueSandbox + " runs commands of skills"

// EnterSandbox makes this process the first one of a sandbox if it was started as
// such. A program that may host the sandbox queue calls it first in main.
func EnterSandbox() { sandbox.Enter() }

// ExitCode prints an error as a program's last words and returns the exit code for
// it; without an error it prints nothing and returns 0.
func ExitCode(w io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	f := fault.From(err)
	fmt.Fprintf(w, "%s: %s [%s]\n  hint: %s\n", program, f.Error(), f.Code, f.Hint)
	return fault.Table[f.Code].Exit
}
