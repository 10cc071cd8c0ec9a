// Package devstack runs the servers that Cairn needs on a developer's machine: a PostgreSQL with
// pgvector and a Temporal server with its UI. It works as root and as an ordinary user, without
// Docker, and leaves no processes or files behind.
//
//	stack, err := devstack.Start(ctx, devstack.Options{Dir: ".cairn", Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer stack.Close()
//	pool, err := pgxpool.New(ctx, stack.DatabaseURL())
//
// With a Dir, the data persists and the addresses are the same on the next start. Without a Dir,
// the stack is removed at the end and is faster: nothing is synchronized to disk, and Temporal
// keeps its state in memory. Tests use this form through the package devtest.
//
// StartServer and StartPooler run a PostgreSQL, a replica of it and a PgBouncer that an experiment
// controls.
//
// # Sources of the servers
//
// The first source that works is used. Nothing is installed into the system.
//
//   - PostgreSQL: DATABASE_URL; a local PostgreSQL 15 or newer that has pgvector
//     0.8 or newer; a folder of Debian packages unpacked in the cache
//     (prefix.sh); Docker.
//   - Temporal: TEMPORAL_ADDRESS; a `temporal` program on PATH or in the cache;
//     `go build` of it into the cache, 2 to 5 minutes, once.
//
// A server that the environment names is used as it is: it is never started, stopped or changed.
//
// # Cleanup
//
// Each server, and each installation, is the child of a small shell (watchdog.sh). The shell holds
// the reading end of a pipe whose only writing end is in this process. The kernel closes the pipe
// when this process ends, even after `kill -9`. The watchdog then stops the server and removes its
// throw-away folder. The watchdog has its own session, so ^C in the terminal reaches this process
// and not the servers, and Close stops them in order.
package devstack
