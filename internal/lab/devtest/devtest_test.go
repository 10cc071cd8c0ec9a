package devtest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/devtest/testrun"
)

func TestEachDatabaseIsAFreshCopy(t *testing.T) {
	var migrations atomic.Int32
	migrate := func(ctx context.Context, address string) error {
		migrations.Add(1)
		conn, err := pgx.Connect(ctx, address) // never closed; this must not matter
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE EXTENSION vector; CREATE TABLE note (text text)")
		return err
	}
	var addresses sync.Map
	t.Run("copies", func(t *testing.T) {
		for range 6 {
			t.Run("copy", func(t *testing.T) {
				t.Parallel()
				address := Database(t, "devtest/1", migrate)
				addresses.Store(address, true)
				conn, err := pgx.Connect(t.Context(), address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				var notes int
				if err := conn.QueryRow(t.Context(),
					"WITH added AS (INSERT INTO note VALUES ('x')) SELECT count(*) FROM note").
					Scan(&notes); err != nil || notes != 0 {
					t.Errorf("a fresh database has %d notes, %v", notes, err)
				}
			})
		}
	})
	if migrations.Load() > 1 {
		t.Errorf("%d migrations for one version", migrations.Load())
	}
	count := 0
	addresses.Range(func(address, _ any) bool {
		count++
		if conn, err := pgx.Connect(t.Context(), address.(string)); err == nil {
			conn.Close(t.Context())
			t.Errorf("%s outlived its test", address)
		}
		return true
	})
	if count != 6 {
		t.Errorf("%d different databases for 6 tests", count)
	}
}

func TestStackIsShared(t *testing.T) {
	first := Stack(t)
	again, err := attach(t.Context(), testrun.This()) // as another process of this run would
	if err != nil {
		t.Fatal(err)
	}
	if *again != *first {
		t.Errorf("one process has %v and another %v", *first, *again)
	}
	if first.TemporalAddress == "" || first.TemporalNamespace == "" {
		t.Errorf("no Temporal server: %v", *first)
	}
}

func TestAddressOfAnotherDatabase(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://postgres@/cairn?host=%2Ftmp%2Fx&sslmode=disable": "postgres://postgres@/other?host=%2Ftmp%2Fx&" +
			"sslmode=disable",
		"postgresql://me:secret@db.example:5432/a?dbname=b": "postgresql://me:secret@db.example:5432/other",
		"host=/tmp/x user=postgres dbname=cairn": "host=/tmp/x user=postgres dbname=cairn " +
			"dbname=other",
	} {
		if got := onDatabase(address, "other"); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
		if config, err := pgx.ParseConfig(onDatabase(address, "other")); err != nil || config.Database != "other" {
			t.Errorf("%s: pgx takes database %q, %v", address, config.Database, err)
		}
	}
}
