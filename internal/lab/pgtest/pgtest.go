// Package pgtest creates databases and stores for tests.
//
//	db := pgtest.Open(t)
//	_, err := db.Inbox().Accept(t.Context(), conversation.Request{Workspace: db.A.ID, …})
package pgtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"cairn/internal/lab/devtest"
	"cairn/internal/store"
	"cairn/schemas"
)

// Database creates a migrated database and returns its superuser's URL.
func Database(t testing.TB) string {
	t.Helper()
	return devtest.Database(t, schemaVersion(), func(ctx context.Context, url string) error {
		_, err := store.Migrate(ctx, url)
		return err
	})
}

// schemaVersion changes with every byte of the migrations.
var schemaVersion = sync.OnceValue(func() string {
	sum := sha256.New()
	sum.Write([]byte(schemas.Roles))
	names, _ := fs.Glob(schemas.Migrations, "migrations/*.sql")
	for _, n := range names {
		raw, _ := fs.ReadFile(schemas.Migrations, n)
		sum.Write(raw)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
})
