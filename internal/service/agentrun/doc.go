// Package agentrun runs the agent loop: one step of a run at a time, the tool calls of that step,
// and the end of the run.
//
// A step loads the run, runs pending tool calls, builds a prompt, calls the model and stores the
// response. Steps and tool calls are rows in Postgres. Turns, reviews and the runs of every
// registered Agent use this loop.
//
// Each method is one step of a workflow and may be repeated at any time.
package agentrun
