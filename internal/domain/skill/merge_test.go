package skill_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
)

func ExampleMerge() {
	current := skill.Document{Name: "deploy", Description: "Deploy", Procedure: "1. Build",
		Experience: []string{"Probe first"}}
	merged := skill.Merge(current, nil, skill.Draft{Action: skill.Update,
		Experience: []string{"probe first", "Pin the version"}})
	fmt.Printf("%q %q\n%s\n", merged.Document.Procedure, merged.Document.Experience, merged.Summary)
	// Output:
	// "1. Build" ["Probe first" "Pin the version"]
	// experience +1
}

func TestMergeLosesNothingByOmission(t *testing.T) {
	current, files := rollback(t)
	merged := skill.Merge(current, files, skill.Draft{Action: skill.Update})
	if !reflect.DeepEqual(merged.Document, current) || !reflect.DeepEqual(merged.Files, files) ||
		merged.Summary != "no change" {
		t.Errorf("an empty draft changed it: %s\n%+v", merged.Summary, merged.Document)
	}
	if skill.ContentHash(current, files) != skill.ContentHash(merged.Document, merged.Files) {
		t.Error("the hash changed")
	}
}

func TestMergeDropsOnlyWhatIsRemoved(t *testing.T) {
	current, files := rollback(t)
	current.Others = []skill.Entry{{Key: "Note", Text: "n"}}
	merged := skill.Merge(current, files, skill.Draft{Action: skill.Update, Trigger: []string{"outage"},
		Removed: []skill.Removal{
			{Field: "experience", Item: "probe before  and after every CHANGE"},
			{Item: "Deployment"},
			{Field: "preference", Item: "kubectl"}, // is in tools: stays
			{Field: "scripts", Item: "check_health.py"},
			{Field: "others", Item: "note"},
		}})
	got := merged.Document
	if !reflect.DeepEqual(got.Trigger, []string{"rollback", "incident", "outage"}) ||
		!reflect.DeepEqual(got.Experience, []string{"Pin the release identifier instead of using latest"}) ||
		!reflect.DeepEqual(got.Tools, []string{"kubectl"}) || got.Others != nil || got.Scripts != nil ||
		!reflect.DeepEqual(got.References, []string{"checklist.md"}) {
		t.Errorf("got %+v", got)
	}
	if want := "trigger +1 −1; experience −1; others 1 → 0; files −1"; merged.Summary != want ||
		len(merged.Files) != 1 {
		t.Errorf("summary %q, want %q; files %v", merged.Summary, want, merged.Files)
	}
}

func TestMergeFlagsAShrinkingProcedure(t *testing.T) {
	ten := strings.TrimSpace(strings.Repeat("step\n", 10))
	for name, c := range map[string]struct {
		lines   int
		removed []skill.Removal
		flags   int
	}{
		"seven of ten":         {7, nil, 0},
		"six of ten":           {6, nil, 1},
		"six of ten, by field": {6, []skill.Removal{{Field: "procedure", Item: "the rest"}}, 0},
		"six of ten, by text":  {6, []skill.Removal{{Item: "step"}}, 0},
	} {
		shorter := strings.TrimSpace(strings.Repeat("step\n", c.lines))
		merged := skill.Merge(skill.Document{Name: "n", Procedure: ten}, nil,
			skill.Draft{Procedure: shorter, Removed: c.removed})
		if len(merged.Flags) != c.flags || merged.Document.Procedure != shorter {
			t.Errorf("%s: flags %q", name, merged.Flags)
		}
	}
}

func TestMergeKeepsTheNameAndTheSectionsOfOthers(t *testing.T) {
	current := skill.ParseBody("## When to Use\nw\n\n## Procedure\np\n\n## Pitfalls\n- x\n\n## Verification\nv\n\n" +
		"## Appendix\na\n")
	current.Name = "old-name"
	merged := skill.Merge(current, nil, skill.Draft{Name: "New Name", Experience: []string{"e"}})
	got := merged.Document
	if got.Name != "old-name" || got.WhenToUse != "w" || got.Pitfalls != "- x" || got.Sections[0].Body != "a" ||
		got.Experience[0] != "e" {
		t.Errorf("got %+v", got)
	}
}

func TestMergeFlagsListsThatOutgrowTheirLimit(t *testing.T) {
	var items []string
	for i := range skill.MaxItems {
		items = append(items, fmt.Sprint("item ", i))
	}
	merged := skill.Merge(skill.Document{Name: "n", Experience: items}, nil,
		skill.Draft{Experience: []string{"one more"}})
	if len(merged.Document.Experience) != skill.MaxItems+1 || len(merged.Flags) != 1 {
		t.Errorf("%d items, flags %q", len(merged.Document.Experience), merged.Flags)
	}
}

func TestCarryOverReplacesByName(t *testing.T) {
	files, violations := skill.CarryOver(
		[]skill.File{{Path: "scripts/a.py", Content: "old\n"}, {Path: "reference/b.md", Content: "b\n"}},
		[]skill.File{{Path: "scripts/A.py", Content: "new"}, {Path: "scripts/c.py", Content: "c"}})
	want := []skill.File{{Path: "reference/b.md", Content: "b\n"}, {Path: "scripts/A.py", Content: "new\n"},
		{Path: "scripts/c.py", Content: "c\n"}}
	if !reflect.DeepEqual(files, want) || violations != nil {
		t.Errorf("got %v, %v", files, violations)
	}
}

func TestContentHashSeesEveryPart(t *testing.T) {
	document, files := rollback(t)
	base := skill.ContentHash(document, files)
	if base != skill.ContentHash(document, []skill.File{files[1], files[0]}) {
		t.Error("the order of the files matters")
	}
	renamed, described, taught := document, document, document
	renamed.Name, described.Description, taught.Verification = "Other", "Other", "Probe"
	for what, hash := range map[string][32]byte{
		"name":        skill.ContentHash(renamed, files),
		"description": skill.ContentHash(described, files),
		"body":        skill.ContentHash(taught, files),
		"files":       skill.ContentHash(document, files[:1]),
		"content":     skill.ContentHash(document, []skill.File{files[0], {Path: files[1].Path, Content: "x\n"}}),
	} {
		if hash == base {
			t.Errorf("another %s, the same hash", what)
		}
	}
}
