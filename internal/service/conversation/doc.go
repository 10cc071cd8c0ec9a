// Package conversation accepts messages and tells what became of them. A message is
// accepted once and is durable before it is acknowledged; its turn is a run of the
// agent loop in package agentrun, whose answer joins the transcript in the
// transaction that ends the turn.
package conversation
