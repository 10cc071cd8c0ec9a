// Package distillbench measures the cost of distillations in addition to their model calls,
// as ratios within one run on one machine:
//
//   - latency: the time of a distillation of three tasks with a fixed response time of the
//     model, divided by its critical path. This is the longest chain of calls: segment,
//     extract, files;
//   - throughput: parallel distillations per second with a fast model, compared with empty
//     workflows of the same shape on the same server;
//   - CPU time of the worker for each distillation.
//
// Each is measured with a Temporal server with its state in memory and with one with its
// state in a file. Postgres uses synchronous commits in both cases. The worker is a separate
// process.

package speed
