// Package turnbench measures the cost of turns in addition to their model calls, as ratios
// within one run on one machine:
//
//   - overhead: the time from a message to its reply, without the time of the model server. It
//     is divided by the time of a bare turn: an Update-with-Start of a workflow that starts one
//     child. Both have no effects, but the same options and search attributes, and they run
//     on the same server;
//   - events in the histories of a turn and of its conversation;
//   - turns per second, and CPU time of the worker per turn.
//
// Turns have one, two or four model calls; between two calls the model searches the memories.
// The load is 1, 16 or 64 parallel conversations. The kinds of turns alternate in rounds, so
// other load on the machine affects all of them equally. The worker is a separate process;
// Postgres commits to disk; Temporal stores its state in memory.

package speed
