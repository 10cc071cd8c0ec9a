// Package devtest gives tests a PostgreSQL and a Temporal server. One of each
// serves a whole `go test ./...`, however many test processes it has:
//
//	func TestStore(t *testing.T) {
//		url := devtest.Database(t, schemas.Hash(), store.Migrate)
//		pool, err := pgxpool.New(t.Context(), url)
//		…
//	}
//
// The first test process that asks starts a holder, a second copy of itself in
// the background (holder.go), which owns the servers. It ends when the `go test`
// that started the tests has gone, for whatever reason, and the servers with
// it. A test process that was not started by `go test` has servers of its own, and
// one that makes many Temporal namespaces starts Temporal servers of its own for
// them, one after the other (temporal.go).
//
// DATABASE_URL and TEMPORAL_ADDRESS in the environment name servers to use
// instead. Databases are made and dropped on them, so the role must be allowed
// to create databases.
package devtest
