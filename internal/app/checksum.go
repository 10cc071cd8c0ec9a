package app

import "go.temporal.io/sdk/worker"

// build names this program to Temporal, which notes in a workflow's history with
// which one a reset point was reached. The linker sets it:
//
//	go build -ldflags "-X cairn/internal/app.build=1.2.3"
//
// Without it the SDK reads the whole program for a checksum at each start.
var build string

func init() {
	if build != "" {
		worker.SetBinaryChecksum(build)
	}
}
