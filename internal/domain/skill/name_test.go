package skill_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func ExampleCanonical() {
	name := skill.Canonical("Travel Itinerary Planning")
	fmt.Println(skill.Folder(name, skill.Hyphen), skill.Folder(name, skill.Underscore))
	// Output: travel-itinerary-planning travel_itinerary_planning
}

func TestCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"../../etc/Cron Job":          "etc-cron-job",
		"..":                          "unnamed-skill",
		"CI/CD Setup":                 "ci-cd-setup",
		"":                            "unnamed-skill",
		"service_deployment_rollback": "service-deployment-rollback",
		"  --A--b__C  ":               "a-b-c",
		"旅行 规划":                       "旅行-规划",
		"Ｆｕｌｌ Ｗｉｄｔｈ":                  "full-width",
		"CON":                         "con-skill",
		"com¹":                        "com1-skill",
		"console":                     "console",
		"İstanbul":                    "istanbul",
		"x\x00y":                      "x-y",
		strings.Repeat("ab ", 40):     strings.Repeat("ab-", 21) + "a",
	} {
		if got := skill.Canonical(name); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", name, got, want)
		}
	}
	if got := skill.Folder(skill.Canonical(".."), skill.Underscore); got != "unnamed_skill" {
		t.Errorf("underscore form of no name: %q", got)
	}
}

func TestCheckNameSuggestsAName(t *testing.T) {
	for _, name := range []string{"deploy-web", "a", "7-zip", "旅行-规划", strings.Repeat("é", 64)} {
		if err := skill.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"Deploy": "deploy", "a_b": "a-b", "-a": "a", "a--b": "a-b", strings.Repeat("a", 65): strings.Repeat("a", 64),
		"../x": "x",
		"":     "unnamed-skill", "con": "con-skill", "Über Web": "über-web", "a b\n": "a-b", "旅行 规划": "旅行-规划",
		"a-": "a",
	} {
		f := fault.From(skill.CheckName(name))
		if f == nil || f.Code != fault.InvalidArgument || f.Extra["suggestion"] != want ||
			!strings.Contains(f.Hint, want) {
			t.Errorf("%q: got %+v", name, f)
		} else if err := skill.CheckName(want); err != nil {
			t.Errorf("the suggestion for %q: %v", name, err)
		}
	}
}

func TestNumberedStaysWithinTheLimit(t *testing.T) {
	if got := skill.Numbered("code-review", 2); got != "code-review-2" {
		t.Errorf("got %q", got)
	}
	if got := skill.Numbered(strings.Repeat("a", 64), 10); utf8.RuneCountInString(got) != 64 ||
		!strings.HasSuffix(got, "a-10") {
		t.Errorf("got %q", got)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"A b", "..", "ǅ", "ﬁ ½ ㍿", "nul"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := skill.Canonical(name)
		if again := skill.Canonical(got); again != got {
			t.Errorf("%q → %q → %q", name, got, again)
		}
		if n := utf8.RuneCountInString(got); n < 1 || n > 64 || strings.ContainsAny(got, "/\\. _") ||
			strings.Contains(got, "--") {
			t.Errorf("%q → %q", name, got)
		}
	})
}
