// Package completion finds the conversation of a request of an OpenAI-compatible API, and what its
// client gets of the reply.
//
// Such a request carries the whole conversation and no ID of it. The package compares the request with
// the requests of earlier turns: an equal request is repeated, one that adds to the last turn of a
// conversation continues it, and every other one opens a conversation and imports the earlier messages.
package completion
