// Package intake imports the session files of agents: single files, compressed files, archives and folders.
//
//	r := intake.Reader{}
//	err := r.Read("session.jsonl.zst", file, func(f intake.File) error { files = append(files, f); return nil })
//	imports, err := service.Accept(ctx, intake.Request{Workspace: ws, Files: files})
//
// Accept stores the files. The relay then stores their conversations, each in a transaction, and continues after a
// crash. Package internal/domain/transcript/intake has the formats. This package has the limits of archives, which can
// claim any size.
package intake
