package skill_test

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
	"cairn/internal/testkit"
)

// repeated are bodies that repeat one piece. A parser that processes earlier text again is slow on
// them.
var repeated = map[string]struct{ before, piece string }{
	"procedure":        {"", "## Procedure\nstep\n"},
	"mixed text":       {"", "## When to Use\na\n## pitfalls\nb\n## Verification\nc\n"},
	"trigger":          {"", "## Trigger\na, b\n"},
	"experience":       {"", "## Experience\n1. a\n"},
	"preference":       {"", "## User Preferences\n- a\n"},
	"tools":            {"", "## Tool Usage\n- curl\n"},
	"examples":         {"", "## Examples\n### Example 1\na\n"},
	"scripts":          {"", "## Scripts\n- `./scripts/a.py`\n"},
	"others":           {"", "## Additional Information\n### k\nt\n"},
	"references":       {"", "## Additional Information\nSee also:\n- [a.md](./reference/a.md)\n"},
	"unknown":          {"", "## Background\na\n"},
	"lines of an item": {"## Experience\n1. a\n", "   b\n"},
	"lines of entries": {"## Additional Information\n### k\n", "b\n"},
	"entries of a key": {"## Additional Information\n", "### k\nb\n"},
	"trigger marks":    {"## Trigger\n", "- "},
	"heading marks":    {"## a", " #"},
	"open elements":    {"", "<script "},
	"open comments":    {"", "<!-- "},
	"fences":           {"## Procedure\n", "```\na\n"},
}

// body returns a body of at least size bytes.
func body(before, piece string, size int) string {
	return before + strings.Repeat(piece, size/len(piece)+1)
}

// Four times the text may cost about four times the work. Quadratic parsing costs sixteen times.
func TestParseBodyGrowsWithTheText(t *testing.T) {
	testkit.Long(t)
	const size, most = 25 << 10, 6
	skill.ParseBody(skillBody) // for one-time allocations
	for _, name := range slices.Sorted(maps.Keys(repeated)) {
		piece := repeated[name]
		small, big := body(piece.before, piece.piece, size), body(piece.before, piece.piece, 4*size)
		little, much := copied(small), copied(big)
		t.Logf("%s: %d KiB for %d, %d KiB for %d", name, little>>10, len(small), much>>10, len(big))
		if much > most*little {
			t.Errorf("%s: four times the text costs %.1f times the memory", name, float64(much)/float64(little))
		}
	}
}

// copied returns how many bytes parsing allocates. It shows repeated processing independently of
// the machine's speed.
func copied(text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	skill.ParseBody(text)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const skillBody = "## When to Use\nalways\n\n## Procedure\n1. a\n"

// Parsing many sections of one kind returns a document that is stable under rendering and parsing.
func TestRepeatedSectionsBecomeOne(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(repeated)) {
		document := skill.ParseBody(body(repeated[name].before, repeated[name].piece, 300))
		if again := skill.ParseBody(string(skill.RenderBody(document))); !reflect.DeepEqual(again, document) {
			t.Errorf("%s:\nfirst  %+v\nsecond %+v", name, document, again)
		}
	}
	for text, want := range map[string]skill.Document{
		"## Procedure\na\n## Background\nx\n## procedure\nb\n## PROCEDURE\n\n## Procedure\nc": {
			Procedure: "a\n\nb\n\nc", Sections: []skill.Section{{Title: "Background", Body: "x"}}},
		"## Trigger\nb, a\n## Experience\n1. x\n## Trigger\nA, c\n## Experience\n- y\n- X": {
			Trigger: []string{"b", "a", "c"}, Experience: []string{"x", "y"}},
		"## Additional Information\n### b\n1\n### a\n2\n## Additional Information\n### B\n3": {
			Others: []skill.Entry{{Key: "a", Text: "2"}, {Key: "b", Text: "1\n\n3"}}},
	} {
		if got := skill.ParseBody(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q\ngot  %+v\nwant %+v", text, got, want)
		}
	}
}

func BenchmarkParseBody(b *testing.B) {
	const size = 100 << 10
	for _, name := range slices.Sorted(maps.Keys(repeated)) {
		text := body(repeated[name].before, repeated[name].piece, size)
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				skill.ParseBody(text)
			}
		})
	}
}
