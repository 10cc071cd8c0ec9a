package store_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/devstack"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestMigratingAgainDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	before := b.catalogue()
	applied, err := store.Migrate(t.Context(), b.url)
	if err != nil || len(applied) != 0 {
		t.Errorf("applied %v, %v; want nothing", applied, err)
	}
	if after := b.catalogue(); after != before {
		t.Errorf("the schema was\n%s\nand is\n%s", before, after)
	}
	if n := b.number("select count(*) from skills"); n != 1 {
		t.Errorf("%d skills left", n)
	}
}

func TestTwoProcessesMayMigrateAtOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t) // the server already has the roles
	url := b.empty()
	const processes = 4
	var wait sync.WaitGroup
	applied := make([][]int64, processes)
	errs := make([]error, processes)
	for i := range processes {
		wait.Go(func() { applied[i], errs[i] = store.Migrate(t.Context(), url) })
	}
	wait.Wait()
	count := map[int64]int{}
	for i := range processes {
		if errs[i] != nil {
			t.Errorf("process %d: %v", i, errs[i])
		}
		for _, version := range applied[i] {
			count[version]++
		}
	}
	for version, n := range count {
		if n != 1 {
			t.Errorf("migration %d was applied %d times", version, n)
		}
	}
	if len(count) == 0 {
		t.Error("nothing was applied")
	}
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatalf("open what was migrated: %v", err)
	}
	s.Close()
}

// A database older than the first migration cannot be upgraded: the error contains the remedy, and
// nothing changes.
func TestADatabaseOfAnOlderProgramIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("delete from goose_db_version where version_id > 0")
	b.exec("insert into goose_db_version (version_id, is_applied) values (33, true)")
	applied, err := store.Migrate(t.Context(), b.url)
	if f := fault.From(err); len(applied) != 0 || f == nil || f.Code != fault.Misconfigured || f.Hint == "" {
		t.Errorf("applied %v, %v", applied, err)
	}
	if n := b.number("select count(*) from goose_db_version where version_id > 33"); n != 0 {
		t.Errorf("%d migrations were recorded", n)
	}
}

// A managed server grants no superuser: a login that may create roles, and owns its database, migrates
// it. Only pgvector needs an administrator.
func TestALoginThatCreatesRolesMigrates(t *testing.T) {
	testkit.Long(t) // starts a server of its own, because roles belong to the whole server
	t.Parallel()
	stack, err := devstack.Start(t.Context(), devstack.Options{SkipTemporal: true, Log: t.Output()})
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, stack.Close()) })
	superuser, err := pgx.Connect(t.Context(), stack.DatabaseURL())
	testkit.Must(t, err)
	defer superuser.Close(t.Context())
	for _, sql := range []string{"create role manager login createrole password 'm'",
		"create database managed owner manager"} {
		_, err := superuser.Exec(t.Context(), sql)
		testkit.Must(t, err)
	}
	address := func(login string) string {
		u, err := url.Parse(stack.DatabaseURL())
		testkit.Must(t, err)
		u.User, u.Path = url.UserPassword(login, "m"), "/managed"
		return u.String()
	}
	_, err = store.Migrate(t.Context(), address("manager"))
	hint := fault.From(err).Hint
	if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(hint, "`create extension vector`") {
		t.Fatalf("without pgvector: %v, hint %q", err, hint)
	}
	inManaged, err := pgx.ParseConfig(stack.DatabaseURL())
	testkit.Must(t, err)
	inManaged.Database = "managed"
	administrator, err := pgx.ConnectConfig(t.Context(), inManaged)
	testkit.Must(t, err)
	defer administrator.Close(t.Context())
	_, err = administrator.Exec(t.Context(), "create extension vector") // as the hint says
	testkit.Must(t, err)

	applied, err := store.Migrate(t.Context(), address("manager"))
	if err != nil || len(applied) == 0 {
		t.Fatalf("applied %v: %v", applied, err)
	}
	if applied, err = store.Migrate(t.Context(), address("manager")); err != nil || len(applied) != 0 {
		t.Fatalf("applied again %v: %v", applied, err)
	}
	manager, err := pgx.Connect(t.Context(), address("manager"))
	testkit.Must(t, err)
	defer manager.Close(t.Context())
	// as docs/operations/deploy.md says
	_, err = manager.Exec(t.Context(), "create role cairn login noinherit nocreatedb nocreaterole password 'm' "+
		"in role cairn_app, cairn_system")
	testkit.Must(t, err)
	s, err := store.Open(t.Context(), address("cairn"), store.Options{})
	testkit.Must(t, err)
	defer s.Close()
	ws, err := s.Workspace(t.Context(), "managed", true)
	testkit.Must(t, err)
	id, err := s.Erasures().AcceptErasure(t.Context(), erasure.Target{Workspace: ws.ID, Derived: erasure.Keep})
	if err != nil || id == 0 {
		t.Errorf("erase: %d, %v", id, err)
	}
	if got, err := store.AcceptRestore(t.Context(), address("manager")); err != nil || got.Incarnation != 2 {
		t.Errorf("accept a restore: %+v, %v", got, err)
	}
}
