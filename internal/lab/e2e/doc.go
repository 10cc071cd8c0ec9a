// Package e2e tests a complete Cairn over a real Postgres and a real Temporal
// server: what a user sees end to end, what happens exactly once although workers
// and servers are killed, and the histories that later code must replay.
package e2e
