// Package mcpserver serves the tools of a workspace over the Model Context Protocol, with
// the protocol's Go SDK. A server acts for one workspace. No argument of a tool selects a
// workspace or the origin of a write.
//
//	server, err := mcpserver.New(mcpserver.Options{Registry: registry, Workspace: ws.ID, MayWrite: true})
//	err = server.Run(ctx, &mcp.StdioTransport{})
//
// The result of a call is JSON, as structuredContent and as text: {"ok":true,…}, or
// {"ok":false,"error":{code, message, hint, …}} with isError. A client that retries a call
// sends the same `cairn/idempotency-key` in _meta; the call then takes effect once.
package mcpserver
