// Package conversation accepts messages and returns their status.
//
// A message is accepted once and is stored before it is acknowledged. Its turn is a run of the
// agent loop in package agentrun. The reply is added to the transcript in the transaction that ends
// the turn.
package conversation
