// Package conversation answers people. A message is accepted once and is durable
// before it is acknowledged; its turn is a run of the agent loop, whose steps
// and tool calls are rows; its answer joins the transcript in the transaction
// that ends the turn. Now and then a nudge reviews what was said since the last
// one, with the tools that remember. Each method is one step that may be run
// again at any time.
package conversation
