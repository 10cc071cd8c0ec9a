package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// A bank is exported with its policy and imported as another one, with or without the policy.
func TestABankIsPublishedWithItsPolicy(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := idle(t)
	folder := filepath.Join(t.TempDir(), "published")
	if out := w.succeeds(
		t,
		"",
		"bank",
		"export",
		folder,
	); !strings.Contains(
		out,
		"exported 10 skills of bank default",
	) {
		t.Errorf("%s", out)
	}
	policy := func(bank string) (version int, hash string) {
		t.Helper()
		var shown shownBank
		testkit.Must(t, json.Unmarshal([]byte(w.succeeds(t, "", "bank", "show", "--bank", bank, "-o", "json")), &shown))
		return shown.Version.Number, shown.Version.Policy
	}
	_, want := policy("default")
	w.succeeds(t, "", "bank", "import", folder, "--bank", "copy")
	if version, got := policy("copy"); got != want || version != 2 {
		t.Errorf("version %d with policy %s, want %s", version, got, want)
	}
	w.succeeds(t, "", "bank", "import", folder, "--bank", "texts", "--skills-only")
	if version, got := policy("texts"); got == want || version != 1 {
		t.Errorf("version %d with policy %s", version, got)
	}
	packed := filepath.Join(folder, "bank.json")
	raw, err := os.ReadFile(packed)
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(packed, []byte(strings.Replace(string(raw), `"dims": `, `"dims": 1`, 1)), 0o600))
	code, _, errs := w.run("", "bank", "import", folder, "--bank", "other")
	if code == 0 || !strings.Contains(errs, "embeddings") || !strings.Contains(errs, "--skills-only") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if out := w.succeeds(t, "", "bank", "decisions"); !strings.Contains(out, "PROPENSITY") {
		t.Errorf("%s", out)
	}
}

// A prompt is shown, replaced, compared and restored at the command line.
func TestPromptsOfABankAreChangedAtTheCommandLine(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := idle(t)
	built := w.succeeds(t, "", "bank", "prompts", "show", "remember")
	if !strings.Contains(built, "{{material}}") || strings.Contains(built, "template") {
		t.Fatalf("%s", built)
	}
	changed := "Keep only plants.\n" + built
	if out := w.succeeds(t, changed, "bank", "prompts", "set", "remember", "-"); !strings.Contains(out,
		"version 2 (prompt)") {
		t.Errorf("%s", out)
	}
	if out := w.succeeds(t, "", "bank", "prompts", "show", "remember"); !strings.HasPrefix(out, "Keep only plants.\n") {
		t.Errorf("%s", out)
	}
	if out := w.succeeds(t, "", "bank", "diff", "--from", "1"); out != "prompt remember.en\n  + Keep only plants.\n" {
		t.Errorf("%q", out)
	}
	if out := w.succeeds(t, "", "bank", "prompts", "list"); strings.Count(out, "built-in") != 9 {
		t.Errorf("%s", out)
	}
	for what, c := range map[string]struct{ in, stage, says string }{
		"a missing placeholder": {strings.ReplaceAll(changed, "{{reply}}", ""), "remember", "{{reply}} is missing"},
		"too long":              {changed + strings.Repeat("x", 9000), "remember", "characters"},
		"nothing":               {" ", "remember", "prompts reset"},
		"another stage":         {changed, "judge", "remember, recite, diagnose, propose, grade"},
	} {
		code, _, errs := w.run(c.in, "bank", "prompts", "set", c.stage, "-")
		if code == 0 || !strings.Contains(errs, c.says) || !strings.Contains(errs, "hint: ") ||
			!strings.Contains(errs, "[invalid_argument]") {
			t.Errorf("%s: exit %d: %s", what, code, errs)
		}
	}
	w.succeeds(t, "", "bank", "prompts", "reset", "remember")
	if out := w.succeeds(t, "", "bank", "prompts", "show", "remember"); out != built {
		t.Errorf("%s", out)
	}
}
