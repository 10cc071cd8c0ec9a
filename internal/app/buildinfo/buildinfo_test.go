package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestInfoDescribesTheBuild(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"},
		{Key: "vcs.time", Value: "2026-03-01T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		version  string
		settings []debug.BuildSetting
		want     Info
		line     string
	}{
		{"", nil, Info{Version: "dev", Go: "go1.26.0", Platform: platform},
			"dev (commit unknown, go1.26.0, " + platform + ")"},
		{"1.2.3", commit, Info{Version: "1.2.3", Commit: "0123456789abcdef0123", CommitTime: "2026-03-01T10:00:00Z",
			Modified: true, Go: "go1.26.0", Platform: platform},
			"1.2.3 (commit 0123456789ab, modified, 2026-03-01T10:00:00Z, go1.26.0, " + platform + ")"},
	} {
		got := from(&debug.BuildInfo{GoVersion: "go1.26.0", Settings: c.settings}, c.version)
		if got != c.want || got.String() != c.line {
			t.Errorf("got %+v, %q", got, got)
		}
	}
	if i := Read(); i.Version != unreleased || i.Go != runtime.Version() {
		t.Errorf("this test: %+v", i)
	}
}
