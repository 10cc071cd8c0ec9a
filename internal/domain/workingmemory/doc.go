// Package workingmemory is short-term memory: a thread that has grown too long for a
// model is made shorter without losing a word of it. Compact puts big tool
// results away and leaves pointers; Plan divides what is older into groups, each
// of which becomes a Snapshot that a model has made. What was put away is a Blob
// under its content's hash, and is found again by Find and Lines.
//
// A tool call is never parted from its results, and the last user's turn is
// never touched.
package workingmemory
