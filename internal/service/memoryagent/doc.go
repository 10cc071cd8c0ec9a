// Package memoryagent is what the agents of long-term memory do. A session
// becomes memories in two layers: the meta-summarizer keeps the session, says
// whom it was about and leaves a digest; specialists look after what is
// remembered about one target each. A question goes the other way: targets first,
// then memories, then the sessions that they lead to.
//
//	run, err := service.Summarize(ctx,
//		memoryagent.Request{Workspace: ws, WorkspaceKey: key, Messages: messages, Spec: spec})
//	report, err := service.Report(ctx, run.Ref)        // what became of it
//	answer, err := service.Retrieve(ctx,
//		memoryagent.Question{Workspace: ws, WorkspaceKey: key, Query: "…", Mode: memoryagent.Auto, Spec: spec})
//
// The agents themselves go through the loop of package agentrun; which ones there
// are, by kind, memory type and version, is in a Registry.
package memoryagent
