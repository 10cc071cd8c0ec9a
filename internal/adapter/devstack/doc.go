// Package devstack runs what Cairn needs besides itself on a developer's
// machine: a PostgreSQL with pgvector and a Temporal server with its UI. It
// works as root and as an ordinary user, without Docker, and leaves nothing
// behind.
//
//	stack, err := devstack.Start(ctx, devstack.Options{Dir: ".cairn", Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer stack.Close()
//	pool, err := pgxpool.New(ctx, stack.DatabaseURL())
//
// With a Dir the data stays and the addresses are the same on the next start.
// Without one the stack is thrown away at the end and is faster: nothing is
// synchronised to disk and Temporal keeps its state in memory. Tests use the
// throw-away form through the package devtest.
//
// # Where the servers come from
//
// The first that works is taken; nothing is ever installed into the system.
//
//   - PostgreSQL: DATABASE_URL; a local PostgreSQL 15 or newer that has pgvector
//     0.8 or newer; a folder of Debian packages unpacked in the cache
//     (prefix.sh); Docker.
//   - Temporal: TEMPORAL_ADDRESS; a `temporal` program on PATH or in the cache;
//     `go build` of it into the cache, 2 to 5 minutes, once.
//
// A server named by the environment is used as it is: never started, stopped
// or changed.
//
// # Nothing is left behind
//
// Each server, and each installation, is the child of a small shell (watchdog.sh)
// that holds the reading end of a pipe whose only writing end is in our process.
// The kernel closes it however we die, `kill -9` included; the watchdog then
// stops the server and removes its throw-away folder. The watchdog is in a
// session of its own, so that ^C in the terminal reaches us and not the servers,
// and Close stops them in order.
package devstack
