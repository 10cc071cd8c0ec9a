// Package erase removes a workspace, or one conversation, everywhere: rows,
// objects and open workflows. Each method is one step that may be run again at
// any time. What was deleted is added up in the transactions that delete, and
// an erasure ends only when counting finds nothing left.
//
//	e, err := service.Accept(ctx, erase.Target{Workspace: 42})          // from here nobody enters it
//	err = service.Fence(ctx, e.ID)                                      // writers in flight have ended
//	err = service.Stop(ctx, e.ID)                                       // no workflow of it is open
//	err = errors.Join(service.CountObjects(ctx, e.ID), service.Rows(ctx, e.ID), service.Objects(ctx, e.ID))
//	e, ended, err := service.End(ctx, e.ID)                             // not ended: do it again
package erase
