package memoryrules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/prompt"
)

// said is a session of alice on a Thursday.
func said(lines ...string) (out []prompt.Message) {
	for i, line := range lines {
		out = append(out, prompt.Message{Index: i, Role: "user", Content: "[2026-03-05 Thu 14:00] " + line})
	}
	return out
}

// of renders facts as "op handle: content @event_time".
func of(m prompt.Material) (out []string) {
	for _, one := range facts(m).([]any) {
		f := one.(map[string]any)
		line := fmt.Sprint(f["op"])
		if f["handle"] != nil {
			line += fmt.Sprintf(" %s", f["handle"])
		}
		line += fmt.Sprintf(": %s", f["content"])
		if f["event_time"] != nil {
			line += fmt.Sprintf(" @%s", f["event_time"])
		}
		out = append(out, line)
	}
	return out
}

// Every statement of the user is kept, not only the first three.
func TestFactsKeepAllThatAUserStates(t *testing.T) {
	t.Parallel()
	got := of(prompt.Material{Subject: "alice", Messages: said(
		"Hi! I only fly from Osaka. My brother Luis is a baker.",
		"I am allergic to nuts. We have two cats. I plan to run a marathon in October 2026.",
		"What is the weather like?",
		"Can you summarise this text for me? Next Thursday I see the dentist.",
		"My locker number is 4417.",
		"Please always answer in bullet points.",
	)})
	for _, want := range []string{"fly from Osaka", "Luis is a baker", "allergic to nuts", "two cats", "marathon",
		"dentist (2026-03-12). @2026-03-12", "4417", "bullet points"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("%q is lost in %q", want, got)
		}
	}
	for _, line := range got {
		if strings.Contains(line, "weather") || strings.Contains(line, "summarise") {
			t.Errorf("kept %q", line)
		}
	}
}

func TestFactsResolveContradictions(t *testing.T) {
	t.Parallel()
	stored := []prompt.StoredMemory{
		{Handle: "m1", Content: "I live in Lisbon."},
		{Handle: "m2", Content: "I work at Acme."},
		{
			Handle:  "m3",
			Content: "I drink coffee every morning.",
		},
		{Handle: "m4", Content: "My favourite color is blue."},
		{Handle: "m5", Content: "My locker number is 4417."},
		{Handle: "m6", Content: "I play tennis on Sundays."},
	}
	for line, want := range map[string]string{
		"I moved to Porto last week.":           "update m1: I moved to Porto last week (2026-02-26). @2026-02-26",
		"I quit my job.":                        "update m2: I quit my job.",
		"I drink tea instead of coffee.":        "update m3: I drink tea instead of coffee.",
		"My favourite color is green.":          "update m4: My favourite color is green.",
		"I don't play tennis any more.":         "update m6: I don't play tennis any more.",
		"Forget my locker number.":              "delete m5: ",
		"Please forget that I live in Lisbon.":  "delete m1: ",
		"I live in Lisbon.":                     "none m1: I live in Lisbon.",
		"My sister moved to Rome in May 2025.":  "add: My sister moved to Rome in May 2025. @2025-05",
		"I bought a tent yesterday.":            "add: I bought a tent yesterday (2026-03-04). @2026-03-04",
		"The concert is on 14 April.":           "add: The concert is on 14 April. @2026-04-14",
		"Remember that the alarm code is 9921.": "add: The alarm code is 9921.",
	} {
		got := of(prompt.Material{Subject: "alice", Stored: stored, Messages: said(line)})
		if len(got) != 1 || strings.TrimSpace(got[0]) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestFactsOfSomebodyElseNameThem(t *testing.T) {
	t.Parallel()
	m := prompt.Material{Subject: "Vera", Messages: []prompt.Message{
		{Index: 0, Role: "user", Name: "Vera", Content: "I like jazz."},
		{Index: 1, Role: "user", Name: "Otto", Content: "I like opera."}}}
	for i, one := range facts(m).([]any) {
		if got := one.(map[string]any)["about"]; got != []string{"Vera", "Otto"}[i] {
			t.Errorf("fact %d is about %v", i, got)
		}
	}
}

func TestRelativeDatesAreResolved(t *testing.T) {
	t.Parallel()
	thursday := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"See you tomorrow.": "2026-03-06", "It was three weeks ago.": "2026-02-12", "On Monday I fly.": "2026-03-09",
		"Last Friday it rained.": "2026-02-27", "In two months we marry.": "2026-05-05", "I swim every Monday.": "",
		"We met in June 2021.": "2021-06", "On December 24 we eat goose.": "2025-12-24", "Nothing is dated.": "",
		"The day after tomorrow.": "2026-03-07", "后天出发": "2026-03-07", "2026-05-01 is a holiday.": "2026-05-01",
	} {
		if got, _ := when(text, thursday); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got, _ := when("See you tomorrow.", time.Time{}); got != "" {
		t.Errorf("without a time: %q", got)
	}
}
