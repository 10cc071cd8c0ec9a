// Package addbench measures adds to memory with one model call, as a client of the gateway sees them,
// and compares them with a bare workflow of one activity without effects in the same run:
//
//   - latency, adds per second, refused and failed adds, and model calls per add;
//   - processor time per add of the gateway, the worker, Postgres and Temporal. That of a bare workflow is
//     the time of this process, which is its client and worker, and of Temporal;
//   - bytes in Postgres, write-ahead log, and events and bytes of the workflow's history.
//
// A caller adds 20 sessions for each of its users, one after another.
//
// A bare workflow with a local activity shows what the other way to call a model would cost. The gateway and
// the worker are separate processes; Postgres commits to disk; Temporal stores its state in memory.
//
// Chaos adds sessions while the worker is killed every few seconds and Postgres and Temporal crash once, and
// counts what is lost, doubled, or paid twice although it was stored.

package speed
