package pgtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// RunID is an SQL expression for a new run's ID.
const RunID = `'run_' || left(md5(random()::text), 26)`

// Store is an open store over a fresh database with two workspaces, A and B.
type Store struct {
	*store.Store
	T     testing.TB
	Admin *pgxpool.Pool // superuser: sees every row
	A, B  access.Workspace
	ops   atomic.Int64
}

// Open creates a migrated database and opens a store over it until the test ends.
func Open(t testing.TB) *Store {
	t.Helper()
	url := Database(t)
	s := &Store{T: t}
	var err error
	s.Store, err = store.Open(t.Context(), url, store.Options{MaxConns: 8})
	testkit.Must(t, err)
	t.Cleanup(s.Store.Close)
	c, err := pgxpool.ParseConfig(url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	s.Admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(s.Admin.Close)
	s.A, err = s.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	s.B, err = s.Workspace(t.Context(), "b", true)
	testkit.Must(t, err)
	return s
}

// Op returns an unused operation ID.
func (s *Store) Op() string { return fmt.Sprintf("test/%d", s.ops.Add(1)) }

// Actor returns a caller in workspace A with a new operation ID.
func (s *Store) Actor(o agent.Origin) agent.Actor {
	return agent.Actor{Workspace: s.A.ID, Origin: o, Op: s.Op(), Approves: o == agent.OriginUser}
}

// User returns a user in workspace A with a new operation ID.
func (s *Store) User() agent.Actor { return s.Actor(agent.OriginUser) }

// Run creates a run in workspace A for autonomous writers.
func (s *Store) Run() string {
	s.T.Helper()
	id := run.NewID()
	s.Exec(`insert into runs (workspace_id, id, kind, business_key, args_sha, spec, workflow_id)
		values ($1, $2, 'distill', $3, 'x', '{}', 'w')`, s.A.ID, id, s.Op())
	return id
}

// Choose changes the settings of workspace A.
func (s *Store) Choose(change func(*settings.Settings)) {
	s.T.Helper()
	testkit.Must(s.T, s.InWorkspace(s.T.Context(), s.A.ID, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		change(&chosen)
		return tx.Workspaces().SetSettings(ctx, chosen)
	}))
}

// Number returns the number that a query of the superuser returns.
func (s *Store) Number(sql string, args ...any) (n int) {
	s.T.Helper()
	if err := s.Admin.QueryRow(s.T.Context(), sql, args...).Scan(&n); err != nil {
		s.T.Fatalf("%s: %v", sql, err)
	}
	return n
}

// Text returns the text that a query of the superuser returns.
func (s *Store) Text(sql string, args ...any) (text string) {
	s.T.Helper()
	if err := s.Admin.QueryRow(s.T.Context(), sql, args...).Scan(&text); err != nil {
		s.T.Fatalf("%s: %v", sql, err)
	}
	return text
}

// Exec runs a statement as the superuser.
func (s *Store) Exec(sql string, args ...any) {
	s.T.Helper()
	if _, err := s.Admin.Exec(s.T.Context(), sql, args...); err != nil {
		s.T.Fatalf("%s: %v", sql, err)
	}
}

// Rows counts the rows of tables, as "memories 2, outbox 1".
func (s *Store) Rows(tables ...string) (out string) {
	s.T.Helper()
	for i, table := range tables {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s %d", table, s.Number("select count(*) from "+table))
	}
	return out
}

// RunRef returns the reference to the first attempt of a run, for the steps of its workflow.
func RunRef(ref run.Ref) contract.RunRef {
	return contract.RunRef{Workspace: ref.Workspace, Run: ref.Run, Attempt: 1}
}

// TaskRef returns the reference to a task of a run.
func TaskRef(ref run.Ref, key string) contract.TaskRef {
	return contract.TaskRef{RunRef: RunRef(ref), Task: key}
}

// CloseInput closes the first attempt of a run.
func CloseInput(ref run.Ref, code, reason string) contract.CloseInput {
	return contract.CloseInput{RunRef: RunRef(ref), Code: code, Reason: reason}
}

// CloseAgent ends the first attempt of a run of the agent loop.
func CloseAgent(ref run.Ref, reason agent.Reason) contract.CloseAgentInput {
	return contract.CloseAgentInput{RunRef: RunRef(ref), Reason: reason}
}

// StepInput requests the response n of a run.
func StepInput(ref run.Ref, n int) contract.StepInput {
	return contract.StepInput{RunRef: RunRef(ref), Step: agent.Step{N: n}}
}

// ToolInput requests the call at a position of a response.
func ToolInput(ref run.Ref, step, position int) contract.ToolInput {
	return contract.ToolInput{RunRef: RunRef(ref), Step: step, Position: position}
}

// Stored returns the stored result of a run that has ended.
func Stored[R any](t testing.TB, s *store.Store, ref run.Ref) (out R) {
	t.Helper()
	testkit.Must(t, s.InWorkspace(t.Context(), ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		return json.Unmarshal(r.Result, &out)
	}))
	return out
}
