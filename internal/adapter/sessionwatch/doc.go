// Package sessionwatch sends the session files that agents write on this machine to a gateway.
//
//	w, err := sessionwatch.Open(sessionwatch.Options{Folders: folders, State: file, Idle: idle, Upload: gateway})
//	err = w.Run(ctx)
//
// A file is due when it has not changed for some time, or when a hook says that its session has ended. Secrets are
// masked before a file is sent. The state file has a cursor for each session: its last sent record. It is written after
// the gateway has stored the file. If the process ends in between, the file is sent again, and the gateway recognizes
// it by its hash; of a file that has grown, the gateway stores only the new messages.
package sessionwatch
