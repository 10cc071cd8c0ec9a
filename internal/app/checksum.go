package app

import "go.temporal.io/sdk/worker"

// build identifies this program to Temporal, which records it in workflow histories for reset
// points. The linker sets it:
//
//	go build -ldflags "-X cairn/internal/app.build=1.2.3"
//
// If it is empty, the SDK computes a checksum of the program file at each start.
var build string

func init() {
	if build != "" {
		worker.SetBinaryChecksum(build)
	}
}
