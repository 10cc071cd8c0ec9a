// Package distillbench measures what a distillation costs beside its model
// calls, as ratios within one run on one machine:
//
//   - latency: the time of a distillation of three tasks with a model that takes
//     a fixed time for each call, divided by its critical path, the longest chain
//     of calls: chunk, rewrite, extract, file;
//   - throughput: distillations a second with a quick model and many at once,
//     beside empty workflows of the same shape on the same server;
//   - processor time of the worker for each distillation.
//
// Each is measured with a Temporal server that keeps its state in memory and
// with one that keeps it in a file. Postgres is the same for both, with
// synchronous commits, and the worker is a process of its own.
package distillbench
