package run

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// ErrLost means that the database does not know a run that it had committed: it was restored from a
// backup.
var ErrLost = errors.New("the database has lost the run")

type mark struct{}

// EnterIncarnation returns a context whose transactions belong to incarnation n.
func EnterIncarnation(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, mark{}, n)
}

// IncarnationOf returns the incarnation of ctx, 0 if it has none.
func IncarnationOf(ctx context.Context) int {
	n, _ := ctx.Value(mark{}).(int)
	return n
}

var keyInID = regexp.MustCompile(`(?:^|/)(?:i(\d+)/)?w[0-9a-f]{16}(?:/|$)`)

// IncarnationOfWorkflow returns the incarnation of a workflow, 0 if its ID contains no key of a workspace.
func IncarnationOfWorkflow(workflowID string) int {
	found := keyInID.FindStringSubmatch(workflowID)
	switch {
	case found == nil:
		return 0
	case found[1] == "":
		return 1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

var prefix = regexp.MustCompile(`^i\d+/`)

// IncarnationBase returns a workspace's key in incarnation 1, which stays the same in all of them.
func IncarnationBase(key string) string { return prefix.ReplaceAllString(key, "") }

// IncarnationKeys returns the keys of a workspace in all incarnations up to that of key, the latest first.
func IncarnationKeys(key string) []string {
	base := IncarnationBase(key)
	var out []string
	for n := max(1, IncarnationOfWorkflow(key)); n > 1; n-- {
		out = append(out, fmt.Sprintf("i%d/%s", n, base))
	}
	return append(out, base)
}
