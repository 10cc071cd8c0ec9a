package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// plain runs a command that needs no server.
func plain(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), args, []string{"CAIRN_CONFIG=/dev/null"}, strings.NewReader(in), &o, &e)
	return o.String(), e.String(), code
}

func TestFormatsAreListed(t *testing.T) {
	out, _, code := plain(t, "", "formats")
	if code != 0 || !strings.Contains(out, "claude-code") || !strings.Contains(out, "CONTENT") {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestADryImportPrintsTheReportAndNeedsNoServer(t *testing.T) {
	const folder = "../../domain/transcript/intake/testdata/"
	out, errs, code := plain(
		t,
		"",
		"import",
		"--dry-run",
		folder+"claude-code/sample.jsonl",
		folder+"codex/sample.jsonl",
	)
	if code != 0 || !strings.Contains(out, "sample.jsonl: claude-code 2.1 · 1 conversation · 12 messages") ||
		!strings.Contains(out, "all: several formats · 2 conversations · 22 messages") {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	out, _, code = plain(t, `[{"role":"user","content":"hi"}]`, "import", "--dry-run", "-", "--output", "json",
		"--format", "anthropic")
	var got struct {
		Imports []struct {
			Name   string
			Report struct {
				Format   string
				Messages int
			}
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(out), &got))
	if code != 0 || len(got.Imports) != 1 || got.Imports[0].Report.Format != "anthropic" ||
		got.Imports[0].Report.Messages != 1 {
		t.Errorf("%d\n%s", code, out)
	}
}

func TestADryImportOfBadInputFails(t *testing.T) {
	for input, want := range map[string]string{`{"plan": 1}`: "unknown format: keys plan",
		`[{"role":"user","content":[{"type":"odd"}]}]`: "are of unknown kinds: 1 odd"} {
		if _, errs, code := plain(t, input, "import", "--dry-run", "-"); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%d %s", code, errs)
		}
	}
	if _, errs, code := plain(t, "", "import", "--distill", "--outcome", "good", "x"); code == 0 ||
		!strings.Contains(errs, "use one of success, failure, unknown") {
		t.Errorf("%d %s", code, errs)
	}
	if _, errs, code := plain(t, "", "import"); code == 0 || !strings.Contains(errs, "missing argument") {
		t.Errorf("%d %s", code, errs)
	}
}
