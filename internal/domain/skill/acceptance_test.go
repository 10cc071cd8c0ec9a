package skill_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
)

var (
	underscore = skill.RenderOptions{NameStyle: skill.Underscore}
	chunkSeqs  = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func draftOf(t testing.TB, name string) skill.Draft {
	t.Helper()
	draft, _, err := skill.DecodeDraft(fixture(t, name), skill.Full, chunkSeqs)
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

func returnedBy(t testing.TB, name string) map[string]string {
	t.Helper()
	files, err := skill.DecodeFiles(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rollback returns a skill with files.
func rollback(t testing.TB) (skill.Document, []skill.File) {
	t.Helper()
	draft := draftOf(t, "ac1_extract.json")
	scripts, degraded, violations := skill.Attach(draft.Scripts, returnedBy(t, "ac1_scripts.json"), skill.Scripts)
	docs, degradedDocs, violatedDocs := skill.Attach(draft.Others,
		map[string]string{"checklist.md": "# Checklist\n\n- probe\n- roll back\n- probe\n"}, skill.Reference)
	if len(degraded)+len(violations)+len(degradedDocs)+len(violatedDocs) > 0 {
		t.Fatalf("degraded %v %v, violations %v %v", degraded, degradedDocs, violations, violatedDocs)
	}
	files, _ := skill.CarryOver(docs, scripts)
	return skill.NewDocument(draft).Seed().WithFiles(files), files
}

func checkBytes(t *testing.T, what string, got []byte, size int, hash string) {
	t.Helper()
	sum := sha256.Sum256(got)
	if hex.EncodeToString(sum[:]) != hash || size > 0 && len(got) != size {
		t.Errorf("%s: %d bytes, sha256 %x, want %d, %s\n%s", what, len(got), sum, size, hash, got)
	}
}

// The bytes of a rendered skill.
func TestAC1CreatedSkillIsByteExact(t *testing.T) {
	document, files := rollback(t)
	md := skill.Render(document, underscore)
	checkBytes(t, "SKILL.md", md, 775, "c09c8b76cf5c33b0a38dfc131626279bf2fac250cd28cd5b2241ea85b0866063")
	checkBytes(t, files[0].Path, []byte(files[0].Content), 0,
		"8edb00deb2e002c607528c30f267f655254286c0f0d306c9efc793cbf89aeedd")
	checkBytes(t, files[1].Path, []byte(files[1].Content), 0,
		"dccd9135924e14de9806011c4f8b88eb2455ffe5a43b9be3c5edfb1f957d0bef")

	folder := skill.Folder(skill.Canonical(document.Name), skill.Underscore)
	first, err := skill.Zip(folder, md, files)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := skill.Zip(folder, md, []skill.File{files[1], files[0]})
	if !bytes.Equal(first, second) {
		t.Error("the same skill gave two packages")
	}
	want := []string{"service_deployment_rollback/SKILL.md", "service_deployment_rollback/reference/checklist.md",
		"service_deployment_rollback/scripts/check_health.py"}
	if got := members(t, first); !reflect.DeepEqual(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
}

// An update merges.
func TestAC5UpdateMergesByteExact(t *testing.T) {
	current, files := rollback(t)
	draft := draftOf(t, "ac5_extract.json")
	if draft.Action != skill.Update || draft.Target != "S1" {
		t.Fatalf("action %q, target %q", draft.Action, draft.Target)
	}
	merged := skill.Merge(current, files, draft)
	checkBytes(t, "SKILL.md", skill.Render(merged.Document, underscore), 885,
		"ac62993b3f19494d1500a2dc46d1598f3cc02f8fd4fb24cc956435408bfe7fc9")
	if !reflect.DeepEqual(merged.Files, files) {
		t.Errorf("files were not carried over: %v", merged.Files)
	}
	if want := "procedure 4 → 5 lines; trigger +1; experience +1"; merged.Summary != want || merged.Flags != nil {
		t.Errorf("summary %q, flags %v, want %q", merged.Summary, merged.Flags, want)
	}
	if skill.ContentHash(current, files) == skill.ContentHash(merged.Document, merged.Files) {
		t.Error("the update looks like no change")
	}
	again := skill.Merge(merged.Document, merged.Files, draft)
	if again.Summary != "no change" || skill.ContentHash(again.Document, again.Files) !=
		skill.ContentHash(merged.Document, merged.Files) {
		t.Errorf("the same update again changes something: %s", again.Summary)
	}
}

// Hostile names.
func TestAC10HostileNamesStayOutside(t *testing.T) {
	draft := draftOf(t, "ac10_extract.json")
	scripts, degraded, violations := skill.Attach(draft.Scripts, returnedBy(t, "ac10_scripts.json"), skill.Scripts)
	docs, _, more := skill.Attach(draft.Others, map[string]string{`..\evil.md`: "x"}, skill.Reference)
	if violations = append(violations, more...); len(violations) < 5 || len(degraded) != 0 {
		t.Errorf("%d violations %q, degraded %q", len(violations), violations, degraded)
	}
	if want := []skill.File{{Path: "scripts/good.py", Content: "print(1)\n"}}; !reflect.DeepEqual(scripts, want) ||
		docs != nil {
		t.Errorf("files %v %v", scripts, docs)
	}
	document := skill.NewDocument(draft).WithFiles(scripts)
	folder := skill.Folder(skill.Canonical(document.Name), skill.Underscore)
	archive, err := skill.Zip(folder, skill.Render(document, underscore), scripts)
	if err != nil {
		t.Fatal(err)
	}
	if got := members(t, archive); !reflect.DeepEqual(got,
		[]string{"etc_cron_job/SKILL.md", "etc_cron_job/scripts/good.py"}) {
		t.Errorf("members %q", got)
	}
	if kept, refused := skill.CheckPlan(draft.Scripts, skill.Scripts); len(kept) != 1 || len(refused) != 5 {
		t.Errorf("the plan keeps %v and refuses %q", kept, refused)
	}
}

// members lists the members of an archive and checks each by the limits of a package.
func members(t *testing.T, archive []byte) []string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		if !filepath.IsLocal(f.Name) || strings.HasSuffix(f.Name, "/") {
			t.Errorf("member %q", f.Name)
		}
		if got := f.Modified.Format("2006-01-02 15:04:05"); f.Mode() != 0o644 || got != "1980-01-01 00:00:00" ||
			f.Flags&0x800 == 0 || f.Method != zip.Deflate {
			t.Errorf("%s: mode %v, time %s, flags %x, method %d", f.Name, f.Mode(), got, f.Flags, f.Method)
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Error(err)
		}
	}
	return names
}
