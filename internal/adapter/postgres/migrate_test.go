package postgres_test

import (
	"sync"
	"testing"

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

func TestMigratingAgainDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	before := b.catalogue()
	applied, err := postgres.Migrate(t.Context(), b.url)
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
		wait.Go(func() { applied[i], errs[i] = postgres.Migrate(t.Context(), url) })
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
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
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
	applied, err := postgres.Migrate(t.Context(), b.url)
	if f := fault.From(err); len(applied) != 0 || f == nil || f.Code != fault.Misconfigured || f.Hint == "" {
		t.Errorf("applied %v, %v", applied, err)
	}
	if n := b.number("select count(*) from goose_db_version where version_id > 33"); n != 0 {
		t.Errorf("%d migrations were recorded", n)
	}
}
