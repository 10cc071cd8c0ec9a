package browsertest_test

import (
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// TestScreenshots writes the pictures of docs/console, if CAIRN_SCREENSHOTS names that folder. All times in the
// database become the same, so that the pictures change only with the pages.
func TestScreenshots(t *testing.T) {
	browsertest.Chromium(t)
	folder := os.Getenv("CAIRN_SCREENSHOTS")
	if folder == "" {
		t.Skip("make screenshots takes the screenshots")
	}
	f := browsertest.Fill(t)
	f.FixTimes()
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	b.Prefer("light", "en")
	b.Size(1100, 720)
	pages := f.Pages()
	testkit.Must(t, os.MkdirAll(folder, 0o755))
	for file, page := range map[string]string{"overview": "overview", "inbox": "candidate", "skill": "skill",
		"conversation": "conversation", "memory": "memory", "run": "turn"} {
		b.Visit(pages[page])
		testkit.Must(t, os.WriteFile(filepath.Join(folder, file+".png"), b.Screenshot(), 0o644))
	}
}
