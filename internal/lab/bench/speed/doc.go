// Package speed measures what Cairn costs in addition to its model calls: adds, turns, distillations, sweeps, searches,
// streams, tokens, loads and pages of the console. Each figure is a ratio to a baseline that the same run measures, so
// that it means the same on another machine.
package speed
