// Package command is what the commands of experiments and benchmarks have in
// common: they end on a signal, start servers of their own, print text or JSON,
// and exit with 1 when something failed or did not hold.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Run is the main function of the command called name: run is carried out until
// SIGINT or SIGTERM ends its context, and its error is printed before exit 1.
func Run(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// OwnServers makes a command forget the servers that the environment names: they
// are somebody else's, loaded by others, and not to be crashed.
func OwnServers() {
	os.Unsetenv("DATABASE_URL")
	os.Unsetenv("TEMPORAL_ADDRESS")
}

// Print writes a result to standard output: as JSON when output is json, else by
// text.
func Print(output string, result any, text func(io.Writer) error) error {
	if output != "json" {
		return text(os.Stdout)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// Line is how the command was called, for a record of its figures.
func Line(name string) string {
	return strings.TrimSpace("go run ./internal/eval/cmd/" + name + " " + strings.Join(os.Args[1:], " "))
}

// Held is an error unless everything that was promised held.
func Held(held bool) error {
	if held {
		return nil
	}
	return errors.New("not everything held, see above")
}
