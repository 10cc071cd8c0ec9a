package guard_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/guard"
)

type corpusText struct {
	Lang string `yaml:"lang"`
	Kind string `yaml:"kind"`
	Text string `yaml:"text"`
}

type corpus struct {
	Attacks []corpusText `yaml:"attacks"`
	Benign  []corpusText `yaml:"benign"`
}

// score counts texts by a property.
type score map[string][2]int

func (s score) add(key string, hit bool) {
	n := s[key]
	n[1]++
	if hit {
		n[0]++
	}
	s[key] = n
}

func (s score) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s %d/%d", key, s[key][0], s[key][1]))
	}
	return strings.Join(parts, ", ")
}

// measure scans texts, and returns the share with a finding.
func measure(t *testing.T, texts []corpusText, want, show bool) float64 {
	languages, kinds, found := score{}, score{}, 0
	for _, c := range texts {
		findings := append(guard.Scan(c.Text, guard.Strict), guard.Secrets(c.Text)...)
		hit := len(findings) > 0
		if hit {
			found++
		}
		languages.add(c.Lang, hit)
		kinds.add(c.Kind, hit)
		if show && hit != want {
			t.Logf("%s %s: %q: %+v", c.Lang, c.Kind, c.Text, findings)
		}
	}
	t.Logf("by language: %s", languages)
	t.Logf("by kind: %s", kinds)
	return float64(found) / float64(len(texts))
}

// TestScanOfTheCorpus demands the promised shares, of the texts that the rules were written with
// and of those that were held out.
func TestScanOfTheCorpus(t *testing.T) {
	for _, file := range strings.Fields(os.Getenv("FILES")) {
		show := file == "corpus.yaml" || os.Getenv("CAIRN_SHOW") != ""
		c := fixture[corpus](t, file)
		recall := measure(t, c.Attacks, true, show)
		alarms := measure(t, c.Benign, false, show)
		t.Logf("%s: %.1f %% of %d attacks found, %.1f %% of %d benign texts pass", file, 100*recall, len(c.Attacks),
			100*(1-alarms), len(c.Benign))
		if recall < .95 || alarms > .03 {
			t.Errorf("%s: want 95 %% of attacks found and 97 %% of benign texts passed", file)
		}
	}
}
