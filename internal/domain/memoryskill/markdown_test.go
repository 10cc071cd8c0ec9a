package memoryskill_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

func dates() memoryskill.Skill {
	return memoryskill.Skill{
		Name: "capture_dates", Title: "Capture dates", Action: memoryskill.Insert,
		Description: "Stores when things happened or will happen.",
		Purpose:     "Make questions about time answerable.",
		WhenToUse:   []string{"The span states a date, a weekday or a duration."},
		HowToApply:  []string{"Resolve relative dates against the session's date.", "Write the date into the item."},
		Constraints: []string{"Do not guess a year."},
	}
}

func ExampleRender() {
	fmt.Print(string(memoryskill.Render(dates())))
	// Output:
	// ---
	// name: "capture_dates"
	// action: "insert"
	// ---
	//
	// # Capture dates
	//
	// ## Description
	// Stores when things happened or will happen.
	//
	// ## Purpose
	// Make questions about time answerable.
	//
	// ## When to Use
	// - The span states a date, a weekday or a duration.
	//
	// ## How to Apply
	// - Resolve relative dates against the session's date.
	// - Write the date into the item.
	//
	// ## Constraints
	// - Do not guess a year.
}

func ExampleSkill_Instructions() {
	fmt.Print(dates().Instructions())
	// Output:
	// Capture dates
	//
	// Purpose: Make questions about time answerable.
	//
	// When to use:
	// - The span states a date, a weekday or a duration.
	//
	// How to apply:
	// - Resolve relative dates against the session's date.
	// - Write the date into the item.
	//
	// Constraints:
	// - Do not guess a year.
	//
	// The only action allowed here is INSERT.
}

func TestParseReadsOtherPeoplesMarkdown(t *testing.T) {
	t.Parallel()
	md := "\ufeff# Capture Dates\r\n\r\n### description:\r\nStores when things happened\r\nor will happen.\r\n## " +
		"PURPOSE\r\nMake questions about time answerable.\r\n" +
		"## When to use\r\n* The span states a date,\r\n  a weekday or a duration.\r\n## How to Apply\r\n1. Resolve " +
		"relative dates against the session's date.\r\n2) Write the date into the item.\r\n" +
		"## Constraints\r\n- Do not guess a year.\r\n\r\nAction type: INSERT only.\r\n"
	got, err := memoryskill.Parse([]byte(md))
	if want := dates(); err != nil || !sameButTitle(got, want) || got.Title != "Capture Dates" {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}

func sameButTitle(a, b memoryskill.Skill) bool {
	a.Title, b.Title = "", ""
	return reflect.DeepEqual(a, b)
}

func TestParseDropsNothingSilently(t *testing.T) {
	t.Parallel()
	for md, where := range map[string]string{
		"# A\n## Examples\nx":                           "line 2",
		"# A\nprose before a section":                   "line 2",
		"---\nname: a\n":                                "line 1",
		"---\nname: [a]\n---\n":                         "name must be text",
		"---\nname: a\nupdate_type: delete\n---\n# A":   `"update_type"`,
		"---\n- a\n---\n":                               "frontmatter",
		"---\nname: abc\naction: insert\n---\n# A\n\nx": "line 7",
	} {
		_, err := memoryskill.Parse([]byte(md))
		if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), where) {
			t.Errorf("%q: %v", md, err)
		}
	}
}

// awkward texts resemble other Markdown elements.
var awkward = []string{
	"plain", "two  spaces", "## Purpose", "# # x", "- item", "1. first", "---", "Action: INSERT only.", "", "  ",
	"a\nb", "#tag", "*", "```",
	"name: x", "日本語の文", "café", "tab\there", "x\u2028y", "## When to Use\n- y", "\x00\x1b[31m", "\xff", "Title ##", ">",
	"| a | b |", "null", "true",
}

func TestParseAfterRenderIsTheIdentity(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string { return awkward[r.IntN(len(awkward))] }
	texts := func() []string {
		var out []string
		for range r.IntN(4) {
			out = append(out, text()+text())
		}
		return out
	}
	for range 3000 {
		s := memoryskill.Skill{
			Name: []string{"null", "true", "abc", "on2"}[r.IntN(4)], Title: text(), Description: text() + text(),
			Purpose:   text(),
			WhenToUse: texts(), HowToApply: texts(), Constraints: texts(), Action: memoryskill.Actions[r.IntN(4)],
		}.Normalized()
		md := memoryskill.Render(s)
		got, err := memoryskill.Parse(md)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%v\n%+v\n%+v\n%s", err, s, got, md)
		}
		if again := memoryskill.Render(got); string(again) != string(md) {
			t.Fatalf("rendered again:\n%s\n%s", md, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(memoryskill.Render(dates()))
	f.Add([]byte("# A\n## Description\n# b\n## Constraints\n- \n-- x\naction: skip"))
	f.Fuzz(func(t *testing.T, md []byte) {
		s, err := memoryskill.Parse(md)
		if err != nil {
			return
		}
		if s.Action == "" {
			s.Action = memoryskill.Insert // an unknown action would be parsed from its text
		}
		if !strings.ContainsAny(s.Name, "\"\\\n\r\t") && memoryskill.CheckName(s.Name) == nil &&
			memoryskill.ParseAction(string(s.Action)) != "" {
			if again, err := memoryskill.Parse(memoryskill.Render(s)); err != nil || !reflect.DeepEqual(s, again) {
				t.Fatalf("%v\n%+v\n%+v", err, s, again)
			}
		}
	})
}
