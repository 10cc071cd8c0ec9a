// Package buildinfo describes how this program was built: version, commit, Go version and platform.
//
//	fmt.Println("worker", buildinfo.Read()) // worker dev (commit 4f2a9c1d03be, …)
//
// The data comes from runtime/debug.ReadBuildInfo, so ordinary builds need no linker flags. A release
// build sets the version, and a package of a package manager says so, too:
//
//	go build -ldflags "-X cairn/internal/app/buildinfo.version=1.2.3 \
//		-X cairn/internal/app/buildinfo.packaged=yes" ./starter
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version and packaged are set by the linker.
var version, packaged string

// unreleased is the version of a build that is not a release.
const unreleased = "dev"

// Packaged reports whether this program was built for a package. The folder where such a program is used is not a
// clone, so it keeps no data there.
func Packaged() bool { return packaged != "" }

// Info is the build information of a program. Commit, CommitTime and Modified are zero if the program
// was built without version control data, for example from a source archive.
type Info struct {
	Version    string `json:"version"`               // "dev" unless the build is a release
	Commit     string `json:"commit,omitempty"`      // full hash
	CommitTime string `json:"commit_time,omitempty"` // RFC 3339, UTC
	Modified   bool   `json:"modified"`              // whether files differed from the commit
	Go         string `json:"go"`                    // such as go1.26.0
	Platform   string `json:"platform"`              // such as linux/amd64
}

// Read returns the build information of this program.
func Read() Info {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		b = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return from(b, version)
}

// from converts the build information that the Go linker stores.
func from(b *debug.BuildInfo, version string) Info {
	i := Info{Version: version, Go: b.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if i.Version == "" {
		i.Version = unreleased
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.CommitTime = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// shortCommit is the number of characters of a commit hash in one line.
const shortCommit = 12

// String formats the information as one line.
func (i Info) String() string {
	parts := []string{"commit unknown"}
	if i.Commit != "" {
		parts[0] = "commit " + i.Commit[:min(shortCommit, len(i.Commit))]
	}
	if i.Modified {
		parts = append(parts, "modified")
	}
	if i.CommitTime != "" {
		parts = append(parts, i.CommitTime)
	}
	parts = append(parts, i.Go, i.Platform)
	return i.Version + " (" + strings.Join(parts, ", ") + ")"
}
