// Package reflection looks back over a workspace's day. What people said since the
// last time becomes notes of the day, a few lasting memories and skills, each
// with the messages that it comes from.
//
//	opened, err := service.Open(ctx,
//		reflection.Request{Workspace: ws, Date: "2026-03-29", Zone: "Europe/Berlin", From: from, To: to})
//
// Open takes up messages: ranges of conversations that belong to one run until
// it fails. The agent loop of package agentrun does the rest through Agent. What
// was read moves a mark forward, one for each conversation, when the run has
// ended well; after a failure the next run reads it again.
package reflection
