package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/adapter/postgres"
	"cairn/internal/testkit"
	"cairn/schemas"
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
	b := setup(t) // the server's roles are there
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

// What was deleted before there were days to take it back in has its days from then on.
func TestWhatWasDeletedEarlierIsKeptForItsDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	raw, err := schemas.Migrations.ReadFile("migrations/00029_undo_days.sql")
	testkit.Must(t, err)
	_, move, found := strings.Cut(string(raw), "Their days begin now.\n")
	if !found {
		t.Fatal("the migration moves no rows")
	}
	b.exec("update cairn.memories set status = 'removed', updated_at = now() - interval '1 year'")
	conn, err := pgx.Connect(t.Context(), b.url)
	testkit.Must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.PgConn().Exec(t.Context(), "begin;"+move+"commit").ReadAll()
	testkit.Must(t, err)
	if n := b.number("select count(*) from cairn.memories where updated_at > now() - interval '1 hour'"); n == 0 || n != b.number("select count(*) from cairn.memories") {
		t.Errorf("%d memories are kept from now on", n)
	}
}
