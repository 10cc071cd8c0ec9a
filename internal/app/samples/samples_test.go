package samples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/app/samples"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/testkit"
)

func TestTheAirlineConversationCanBeRead(t *testing.T) {
	t.Parallel()
	read, err := intake.Read("airline.json", bytes.NewReader(samples.Airline), intake.Options{})
	all := read.Conversations
	testkit.Must(t, err)
	said := map[transcript.Role]int{}
	for _, c := range all {
		for _, m := range c.Messages {
			said[m.Role]++
		}
	}
	if len(all) != 1 || said[transcript.User] == 0 || said[transcript.Assistant] == 0 || said[transcript.Tool] == 0 {
		t.Errorf("%d conversations, said %v", len(all), said)
	}
}

// put makes a file with the folders that it is in.
func put(t *testing.T, path string) string {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.Must(t, os.WriteFile(path, []byte("x"), 0o644))
	return path
}

func TestPublicDataIsFoundWhereTheEnvironmentSays(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "shared", "data", "set", "other.json"))
	want := put(t, filepath.Join(root, "elsewhere", "set", "a.json"))
	t.Chdir(root)
	t.Setenv("CAIRN_DATA", filepath.Join(root, "elsewhere"))
	for name, want := range map[string]string{"set/a.json": want, "set/b.json": "", "set/other.json": ""} {
		if got := samples.Public(name); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}

// The folder shared/data is next to the project or next to one of its parents.
func TestPublicDataIsFoundNextToAParent(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	far := put(t, filepath.Join(root, "shared", "data", "far.json"))
	put(t, filepath.Join(root, "shared", "data", "both.json"))
	near := put(t, filepath.Join(root, "a", "shared", "data", "both.json"))
	testkit.Must(t, os.MkdirAll(filepath.Join(root, "a", "project", "internal"), 0o755))
	t.Chdir(filepath.Join(root, "a", "project", "internal"))
	t.Setenv("CAIRN_DATA", "")
	for name, want := range map[string]string{"far.json": far, "both.json": near, "no-such-set-of-data.json": ""} {
		if got := samples.Public(name); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}
