// Package streambench measures how long text takes from a model to the client of a streamed chat. The
// streamModel writes the time into each part of its text, and the client compares it with its clock. The model,
// the gateway and the client run on one machine.

package speed
