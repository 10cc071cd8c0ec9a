package e2e_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestDistillCreatesASkillPackage(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.ScriptR1()
	r := b.Distill(apptest.C1())

	if r.Outcome != run.Completed || len(r.Tasks) != 1 || r.Tasks[0].Outcome != distillation.Created {
		t.Fatalf("run ended as %q (%s) with tasks %+v", r.Outcome, r.Reason, r.Tasks)
	}
	for stage, want := range map[string]int{"segment": 1, "extract": 1, "files": 1} {
		if got := b.Model.Count(stage); got != want {
			t.Errorf("%d requests for %s, want %d", got, stage, want)
		}
	}
	if n := len(b.Model.Requests()); n != 3 {
		t.Errorf("%d requests in all, want 3", n)
	}
	task := r.Tasks[0]
	if task.Skill != "service-deployment-rollback" || task.Version != 1 {
		t.Errorf("skill %q version %d", task.Skill, task.Version)
	}
	archive, err := os.ReadFile(task.Package)
	testkit.Must(t, err)
	members := unzip(t, archive)
	want := map[string]string{
		"service_deployment_rollback/SKILL.md": "" +
			"c09c8b76cf5c33b0a38dfc131626279bf2fac250cd28cd5b2241ea85b0866063",
		"service_deployment_rollback/reference/checklist.md": "" +
			"8edb00deb2e002c607528c30f267f655254286c0f0d306c9efc793cbf89aeedd",
		"service_deployment_rollback/scripts/check_health.py": "" +
			"dccd9135924e14de9806011c4f8b88eb2455ffe5a43b9be3c5edfb1f957d0bef",
	}
	for name, content := range members {
		if got := hash(content); got != want[name] {
			t.Errorf("%s: sha256 %s, want %s; it reads\n%s", name, got, want[name], content)
		}
	}
	if len(members) != len(want) {
		t.Errorf("members %v", members)
	}
	extracted, err := os.ReadFile(task.SkillMD)
	testkit.Must(t, err)
	if !bytes.Equal(extracted, members["service_deployment_rollback/SKILL.md"]) {
		t.Error("the SKILL.md next to the zip differs from the one inside")
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.Skills().Version(ctx, task.SkillID, 1)
		if err != nil {
			return err
		}
		if !slices.Equal(v.Sources, []skill.Source{{Conversation: v.Sources[0].Conversation, From: 0, To: 13}}) {
			t.Errorf("rests on %+v, want messages 0 to 13", v.Sources)
		}
		again, err := skill.Zip("service_deployment_rollback", members["service_deployment_rollback/SKILL.md"], v.Files)
		if !bytes.Equal(again, archive) {
			t.Error("packing the same skill again gives other bytes")
		}
		return err
	})
}

func unzip(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	testkit.Must(t, err)
	out := map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		testkit.Must(t, err)
		out[f.Name], err = io.ReadAll(in)
		testkit.Must(t, err)
	}
	return out
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
