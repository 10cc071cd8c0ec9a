// Package httpapi is the HTTP gateway of Cairn. Its routes accept messages and
// conversations, manage memories and skills, and report on runs. Package mcpserver
// provides the tools over MCP; this gateway mounts it at /mcp. The routes are declared
// with huma, so the handlers and the OpenAPI document (schemas/openapi.json) cannot
// differ.
//
//	g := httpapi.New(services, options, httpapi.NoMeter)
//	err := g.Serve(ctx, listener) // until ctx ends and open requests are done
//
// # Authentication
//
// Every route under /v1 requires the header `Authorization: Bearer cairn_…`. A key
// belongs to one workspace, and no argument selects another one: objects of other
// workspaces are not found (404). The database stores only the SHA-256 of a key;
// `cairn keys create` shows the key once. The scope read allows reads. The scope write
// also allows changes. The scope admin also allows approvals and everything else.
//
// # Errors
//
// All errors, including those of huma and the router, have one form:
//
//	{"code": "not_found", "message": "…", "hint": "…", "retryable": false}
//
// Additional members carry data for the next step (fault.Error.Extra). The HTTP status
// is the one that fault.Table assigns to the code. The cause of an internal error is
// logged and not sent.
//
// # Origin of writes
//
// Requests to the routes and to /v1/tools write as the user. Tool calls over MCP write as
// an agent. No argument changes the origin. A change with an Idempotency-Key is
// applied once.
//
// # Long requests
//
// POST /v1/turns stores a message, sends it to its conversation and waits for the reply,
// by default 60 seconds. The status 202 means that the reply follows; the response links to
// it. The same message_id returns the same reply.
//
// POST /v1/distill responds with 202 and the run's ID when the request is stored. The run
// continues if the caller disconnects. The same Idempotency-Key returns the same run.
// With ?wait=30 the response includes the report if the run ends within 30 seconds.
// GET /v1/runs/{id}/events streams the progress and then the report. A client resumes a
// broken stream with Last-Event-ID.
//
// POST /v1/summary_memory and /v1/retrieve_memory respond with such a stream if the body
// sets stream: progress events, and then end with the body of the plain response, or error.
// The run continues if the caller disconnects.
package httpapi
