// Package erase removes a workspace, one conversation or one subject of memories: rows, objects and
// open workflows. Each method is one step and may be repeated at any time. The transactions that delete
// rows also count them. An erasure ends only when a final count finds nothing left.
//
//	e, err := service.Accept(ctx, erasure.Target{Workspace: 42}) // closes the workspace
//	err = service.Fence(ctx, in)                               // waits for active writers
//	err = service.Stop(ctx, in)                                // terminates its workflows
//	err = errors.Join(service.CountObjects(ctx, in), service.Rows(ctx, in), service.Objects(ctx, in))
//	out, err := service.End(ctx, in)                           // if not ended: repeat
package erase
