// Package devtest provides tests with a PostgreSQL and a Temporal server. One of each serves a
// whole `go test ./...` with all its test processes:
//
//	func TestStore(t *testing.T) {
//		url := devtest.Database(t, schemas.Hash(), store.Migrate)
//		pool, err := pgxpool.New(t.Context(), url)
//		…
//	}
//
// The first test process that asks builds and starts the program testservers, which owns the
// servers. It ends them when the `go test` that started the tests has ended, for whatever reason. A
// test process that was not started by `go test` has its own servers. A test process that creates
// many Temporal namespaces starts its own Temporal servers for them, one after the other
// (temporal.go).
//
// If DATABASE_URL or TEMPORAL_ADDRESS is set, that server is used instead. Databases are created
// and dropped on it, so its role needs the right to create databases.
package devtest
