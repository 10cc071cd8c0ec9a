// Package mcpserver offers the tools of a workspace over the Model Context
// Protocol, by the protocol's own Go SDK. A server speaks for one workspace, on
// behalf of whoever holds its key or has started it; no argument of a tool names
// a workspace or a writer.
//
//	server, err := toolserver.New(toolserver.Options{Registry: registry, Workspace: ws.ID, MayWrite: true})
//	err = server.Run(ctx, &mcp.StdioTransport{})
//
// A call's result is JSON, once as structuredContent and once as text:
// {"ok":true,…}, or {"ok":false,"error":{code, message, hint, …}} with isError.
// A client that sends a call again gives it the same `cairn/idempotency-key` in
// _meta: then it is done once.
package mcpserver
