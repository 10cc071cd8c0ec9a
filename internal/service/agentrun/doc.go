// Package agentrun is the agent loop: it runs one step of a run at a time, the tool
// calls of that step, and the end of any agent's run. A step loads the run, runs
// pending calls, builds a prompt, calls the model and stores what it said; steps and
// tool calls are rows. Turns of conversations and reviews of them are runs, and so
// are those of every registered Agent. Each method is one step that may be run again
// at any time.
package agentrun
