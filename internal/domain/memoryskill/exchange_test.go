package memoryskill_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
)

func TestImportOfAnExportChangesNothing(t *testing.T) {
	t.Parallel()
	b := added(t, seeded(t, 30), "capture_dates")
	refined := dates()
	refined.Purpose = "Another purpose."
	b, err := b.Refine(refined, memoryskill.Designer, "round1")
	if err != nil {
		t.Fatal(err)
	}
	files := b.Export()
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names,
		[]string{"capture_dates.md", "delete.md", "insert.md", "noop.md", "update.md"}) {
		t.Errorf("%v", names)
	}
	again, err := b.Import(files, "folder")
	if err != nil || again.Hash() != b.Hash() || again.Parent() != b.Parent() {
		t.Errorf("%v", err)
	}
}

func TestImportAddsAndRefines(t *testing.T) {
	t.Parallel()
	b := seeded(t, 30)
	files := b.Export()
	files["dates.md"] = memoryskill.Render(dates())
	files["insert.md"] = []byte(strings.Replace(string(files["insert.md"]), "Store facts that are missing.",
		"Store what is missing.", 1))
	delete(files, "noop.md")
	after, err := b.Import(files, "folder")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, d := range memoryskill.Differences(b, after) {
		kinds[d.Name] = d.Kind
	}
	if len(kinds) != 2 || kinds["capture_dates"] != memoryskill.Added || kinds["insert"] != memoryskill.Refined ||
		after.Parent() != b.Hash() {
		t.Errorf("%v", kinds)
	}
}

func TestImportTakesAllFilesOrNone(t *testing.T) {
	t.Parallel()
	b := seeded(t, 30)
	asUpdate := memoryskill.Primitives()[0]
	asUpdate.Action = memoryskill.Update
	after, err := b.Import(map[string][]byte{
		"a.md": memoryskill.Render(dates()), "b.md": memoryskill.Render(dates()), "c.md": []byte("# Empty"),
		"d.md": memoryskill.Render(asUpdate),
	}, "folder")
	if err == nil || after.Hash() != b.Hash() || fault.CodeOf(err) == "" {
		t.Fatalf("%v", err)
	}
	for _, file := range []string{"b.md: ", "c.md: ", "d.md: "} {
		if !strings.Contains(err.Error(), file) {
			t.Errorf("%s is not told of: %v", file, err)
		}
	}
	if strings.Contains(err.Error(), "a.md: ") {
		t.Errorf("a.md is fine: %v", err)
	}
}
