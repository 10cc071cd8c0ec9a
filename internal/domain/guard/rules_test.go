package guard

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestEveryRuleIsMetByAFixture rejects rules that no fixture tests.
func TestEveryRuleIsMetByAFixture(t *testing.T) {
	met := map[string]bool{}
	for _, name := range []string{"testdata/attacks.yaml", "testdata/scripts.yaml", "testdata/secrets.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct{ Text, Code string }
		if err := yaml.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			for _, f := range append(ScanScript("a.py", c.Text+c.Code), Secrets(unsplit(c.Text))...) {
				met[f.ID] = true
			}
		}
	}
	ids := map[string]bool{}
	for _, r := range slices.Concat(textRules(), scriptRules()) {
		if ids[r.id] {
			t.Errorf("two rules are called %s", r.id)
		}
		if ids[r.id] = true; !met[r.id] {
			t.Errorf("no fixture meets %s", r.id)
		}
	}
	for _, d := range detectors() {
		if !d.private && !met["secret."+d.kind] {
			t.Errorf("no fixture meets the detector of %s", d.kind)
		}
	}
}

// unsplit removes the marks that keep fixtures from looking like real secrets.
func unsplit(text string) string {
	return string(slices.DeleteFunc([]byte(text), func(b byte) bool { return b == '|' }))
}

// TestEveryOrderIsMetByTheCorpus rejects rules of languages.yaml that no text tests.
func TestEveryOrderIsMetByTheCorpus(t *testing.T) {
	met := map[string]bool{}
	for _, name := range []string{"testdata/corpus.yaml", "testdata/heldout.yaml", "testdata/later.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Attacks []struct{ Text string } }
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Attacks {
			for _, f := range scanOrders(fold(c.Text), Strict, false) {
				met[f.ID] = true
			}
		}
	}
	for _, r := range wordLists().rules {
		if !met[r.id] {
			t.Errorf("no text meets %s", r.id)
		}
	}
}
