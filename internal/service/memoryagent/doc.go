// Package memoryagent runs the agents of long-term memory. The summarizer stores a session, finds
// its targets and writes a summary. It hands off each target to a specialist, which updates the
// memories of that target. The retriever answers questions: it selects targets, reads their
// memories, and then the sessions of these memories.
//
//	run, err := service.Summarize(ctx,
//		memoryagent.Request{Workspace: ws, WorkspaceKey: key, Messages: messages, Spec: spec})
//	report, err := service.Report(ctx, run.Ref)        // state and result
//	answer, err := service.Retrieve(ctx,
//		memoryagent.Question{Workspace: ws, WorkspaceKey: key, Query: "…", Mode: memoryagent.Auto, Spec: spec})
//
// The agents use the agent loop of package agentrun. A Registry contains the available agents by
// kind, memory type and version.
package memoryagent
