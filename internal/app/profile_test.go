package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func TestTheSearchProfileIsAFileOfKnownParameters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "search.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rrf_k: 60\nw_type:\n  summary: 1\n")
	if p, err := searchProfile(path); err != nil || *p.RRFK != 60 || p.WType["summary"] != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	write("")
	if p, err := searchProfile(path); err != nil || p.RRFK != nil {
		t.Errorf("an empty file: %+v, %v", p, err)
	}
	for text, says := range map[string]string{"speed: 9": "speed", "rrf_k: 0": "search.rrf_k is 0",
		"rrf_k: [": "search.yaml"} {
		write(text)
		_, err := searchProfile(path)
		if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := searchProfile(path + ".missing"); fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("a missing file: %v", err)
	}
}
