// Package reflection runs the daily review of a workspace. It turns new messages into notes of the
// day and a few lasting memories and skills, each with its source messages.
//
//	opened, err := service.Open(ctx, reflection.Request{Workspace: ws, Date: "2026-03-29",
//		Zone: "Europe/Berlin", From: from, To: to})
//
// Open assigns messages to a run: ranges of conversations that no other run reads unless this one
// fails. Agent then drives the agent loop of package agentrun. When the run has succeeded, the mark
// of each conversation moves forward. After a failure, the next run reads the messages again.
package reflection
