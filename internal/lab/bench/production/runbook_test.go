package production_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/lab/bench/production"
	"cairn/internal/testkit"
)

const text = "# Page\n\n## Back up\n\n```sh\necho one > file\n# no heading\ncat file\n```\n\n" +
	"```sh no-run\nfalse\n```\n\n```sh\necho \"$WORD\"\n```\n\n### Restore\n\n```sh\nfalse\n```\n"

func TestTheCommandsUnderAHeadingRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "page.md"), []byte(text), 0o600))
	page, err := production.ReadPage(folder, "page.md")
	testkit.Must(t, err)
	blocks, err := page.Blocks("Back up", 2)
	testkit.Must(t, err)
	r := production.PageRunner{Folder: folder, Environ: []string{"PATH=" + os.Getenv("PATH"), "WORD=two"}}
	for i, want := range []string{"one\n", "two\n"} {
		if out, err := r.Run(t.Context(), blocks[i]); err != nil || out != want {
			t.Errorf("block %d: %q, %v", i, out, err)
		}
	}
	blocks, err = page.Blocks("Restore", 1)
	testkit.Must(t, err)
	if _, err := r.Run(t.Context(), blocks[0]); err == nil || !strings.Contains(err.Error(), "false") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := page.Blocks("Back up", 3); err == nil {
		t.Error("a page with fewer blocks is accepted")
	}
}
