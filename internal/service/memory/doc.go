// Package memory stores what Cairn remembers. PromptService has the memories that every prompt contains: the stores
// core and profile, the notes of a day, and the soul. LongTermService has entries about targets, which search finds,
// with their sessions and the identity of the agent.
//
// Both write in the same way: Once runs a write once per operation ID, after its text was scanned and embedded, and
// records who wrote it and from what.
package memory
