// Package fastadd adds sessions to memory with one model call. It claims the open adds of a subject,
// shows the model the memories that they may affect, stores its reply, and commits all changes, the
// summaries and the ends of the runs in one transaction.
//
//	out, err := service.Add(ctx, ws, subject)   // one call; out.More means that other adds wait

package memoryagent
