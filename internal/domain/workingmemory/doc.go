// Package workingmemory shortens a thread that is too long for a model, without losing content.
// Compact offloads big tool results and leaves pointers. Groups divides the older messages into
// groups, and each becomes a Snapshot written by a model. Offloaded content is a Blob under the
// hash of its content. Finder and Read give access to it.
//
// A tool call is never separated from its results, and the last user turn is never changed.
package workingmemory
