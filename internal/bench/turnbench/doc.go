// Package turnbench measures what a turn costs beside its model calls, as ratios
// within one run on one machine:
//
//   - overhead: the time from a message to its answer without what the model's
//     server took, by that server's own record, beside a bare turn: an
//     Update-with-Start of a workflow that starts one child, neither of which does
//     anything, with the same options and search attributes on the same server;
//   - events in the histories of a turn and of its conversation;
//   - turns a second, and the worker's processor time for each.
//
// Turns have one, two or four model calls; between two calls the model searches
// the memories. One, 16 and 64 conversations talk at once. The kinds of turns
// follow each other in rounds, so that what else the machine does hits all of
// them alike. The worker is a process of its own; Postgres commits to disk;
// Temporal keeps its state in memory.
package turnbench
