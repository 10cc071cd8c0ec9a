// Package httpapi is Cairn over HTTP: messages are answered, memories are kept,
// conversations go in, runs are watched, skills are read, changed, approved and
// carried away; package toolserver offers the tools over MCP, here at /mcp. The routes are declared
// with huma, so the OpenAPI document (schemas/openapi.json) is what the handlers
// do, and cannot drift from it.
//
//	g := gateway.New(h, gateway.NoMeter)
//	err := g.Serve(ctx, listener) // until ctx ends, then what is under way
//
// # Who is asking
//
// Every route under /v1 wants `Authorization: Bearer cairn_…`. A key belongs to
// one workspace and names it: no argument does, so a thing of another workspace
// is simply not there (404), whatever its number. Of a key only the SHA-256 is
// stored; `cairn keys create` shows it once. Scopes: read looks, write changes
// (and looks), admin decides what waits for approval (and does all the rest).
//
// # What goes wrong
//
// Every error, huma's and the router's own included, has one form,
//
//	{"code": "not_found", "message": "…", "hint": "…", "retryable": false}
//
// beside which stands what a program needs for the next step (fault.Error.Extra),
// with the status that fault.Table gives its code. What fails inside is logged
// and not told.
//
// # Who writes
//
// Whoever holds a key writes as the user, through the routes and /v1/tools alike;
// whoever calls a tool over MCP is an agent. No argument says otherwise. A change
// under an Idempotency-Key is done once.
//
// # What takes long
//
// POST /v1/turns makes a message durable, brings it to its conversation and waits
// for the answer, 60 seconds unless the body says otherwise; 202 says that it will
// be answered, and where to look. The same message_id is the same answer.
//
// POST /v1/distill answers when the request is durable, with 202 and the run's
// number; from then on it is driven to its end, whatever happens to the caller.
// The same Idempotency-Key is the same run. ?wait=30 waits that long for the
// report; GET /v1/runs/{id}/events streams how far the run is, and at its end the
// report, and goes on where a broken stream stopped (Last-Event-ID).
//
// POST /v1/summary_memory and /v1/retrieve_memory have such a stream as their own
// answer when the body says stream: progress, and at last end with the body of the
// plain answer, or error. A caller that goes away takes nothing along.
package httpapi
