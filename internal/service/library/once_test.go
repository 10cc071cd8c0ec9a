package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

func TestOfManyPatchesOnOneVersionOneWins(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const writers = 20
	b := setup(t, func(s *library.Settings) { s.WritesPerHour = 1000 })
	var steps []string
	for i := range writers {
		steps = append(steps, fmt.Sprintf("Step %c of the release", 'A'+i))
	}
	b.does(b.as(agent.OriginAgent), "skill_save", deploy(with("content", body(steps...))), "created", 1)
	a := b.as(agent.OriginAgent)
	versions := make([][]int, writers) // that each writer has won
	var conflicts atomic.Int64
	var working sync.WaitGroup
	for i := range writers {
		working.Go(func() {
			for round, seen := 0, 1; round < 200; round++ {
				actor := a
				actor.Op = fmt.Sprintf("%s/%d/%d", a.Run, i, round)
				out, err := b.Patch(t.Context(), actor,
					library.PatchArgs{Name: "deploy-web", OldString: steps[i], NewString: steps[i] + ", done",
						ExpectedVersion: seen})
				if err == nil {
					versions[i] = append(versions[i], out.Version)
					return
				}
				if fault.CodeOf(err) != fault.VersionConflict {
					t.Errorf("writer %d: %v", i, err)
					return
				}
				conflicts.Add(1)
				seen = fault.From(err).Extra["current_version"].(int)
			}
			t.Errorf("writer %d never won", i)
		})
	}
	working.Wait()
	won := map[int]bool{}
	for _, v := range versions {
		for _, n := range v {
			if won[n] {
				t.Errorf("two writers made version %d", n)
			}
			won[n] = true
		}
	}
	if n := b.number("select head_version from skills"); n != 1+writers || conflicts.Load() == 0 {
		t.Errorf("version %d after %d patches, %d conflicts", n, writers, conflicts.Load())
	}
	got := b.column("select body from skill_versions v join skills s on s.head_version = v.version")
	for _, s := range steps {
		if strings.Count(got, s+", done") != 1 {
			t.Errorf("%q is lost", s)
		}
	}
}

func TestPatchesWithoutAVersionAreAllApplied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.does(b.as(agent.OriginAgent), "skill_save", deploy(), "created", 1)
	a := b.as(agent.OriginAgent)
	var working sync.WaitGroup
	for _, word := range []string{"Build", "Roll", "Watch"} {
		working.Go(func() { b.does(a, "skill_patch", patchOf(word, "Please "+word), "patched", 0) })
	}
	working.Wait()
	if got := b.column("select body from skill_versions where version = 4"); strings.Count(got, "Please") != 3 {
		t.Errorf("version 4 is %q", got)
	}
}

// loses makes the store lose the answer of the first transaction that changed a skill.
func (b *bundle) loses() {
	lost := false
	b.Store = b.store.Intercept(func(_ context.Context, run func() error) error {
		const rows = "select id || '/' || xmin from skills order by id" // xmin is of the transaction that wrote a row
		before := b.column(rows)
		if err := run(); err != nil || lost || b.column(rows) == before {
			return err
		}
		lost = true
		return errLost
	})
}

var errLost = errors.New("the connection broke after the commit")

func TestACallWhoseAnswerWasLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool    string
		args    object
		action  string
		version float64
		history int
	}{
		"a creation": {"skill_save", deploy(with("name", "bake-bread"), with("description", "Bakes bread"),
			with("content", body("Knead"))), "created", 1, 2},
		"an update": {"skill_save", deploy(with("description", "Releases the web service")), "updated", 2, 2},
		"a patch":   {"skill_patch", patchOf("Build", "Make"), "patched", 2, 2},
		"a delete":  {"skill_delete", object{"name": "deploy-web"}, "deleted", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.does(b.as(agent.OriginUser), "skill_save", deploy(), "created", 1)
			b.loses()
			a := b.as(agent.OriginAgent)
			a.Op = "7/step/1"
			if _, err := b.tools.Call(t.Context(), a, c.tool, raw(t, c.args)); !errors.Is(err, errLost) {
				t.Fatalf("the answer was not lost: %v", err)
			}
			first := b.call(a, c.tool, c.args)
			again := b.call(a, c.tool, c.args)
			if first["action"] != c.action || c.version != 0 && first["version"] != c.version ||
				fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("again: %v, then %v", first, again)
			}
			if n := b.number("select count(*) from skill_versions"); n != c.history {
				t.Errorf("%d versions, want %d", n, c.history)
			}
			b.refused(a, "skill_patch", patchOf("Roll", "Push"), fault.OpReused)
		})
	}
}

func TestAnotherWorkspaceSeesNothingOfASkill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.does(b.as(agent.OriginUser), "skill_save", deploy(), "created", 1)
	other, err := b.store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	mine := b.ws
	b.ws = other
	a := b.as(agent.OriginAgent)
	b.refused(a, "skill_view", object{"name": "deploy-web"}, fault.NotFound)
	b.refused(a, "skill_patch", patchOf("Build", "Make"), fault.NotFound)
	b.refused(a, "skill_delete", object{"name": "deploy-web"}, fault.NotFound)
	if out := b.call(a, "skill_list", object{}); out["total"] != 0.0 {
		t.Errorf("lists %v", out)
	}
	if out := b.call(a, "skill_list", object{"query": "deploy the web service"}); out["total"] != 0.0 {
		t.Errorf("finds %v", out)
	}
	if x, err := b.Index(t.Context(), other.ID); err != nil || x.Text() != "" {
		t.Errorf("index %q, %v", x.Text(), err)
	}
	out := b.does(a, "skill_save", deploy(with("description", "Deploys the other service")), "created", 1)
	if len(out["warnings"].([]any)) != 0 {
		t.Errorf("is told of another workspace's skill: %v", out)
	}
	b.does(a, "skill_patch", patchOf("Build", "Make"), "patched", 2) // of the same name, and its own
	b.does(a, "skill_delete", object{"name": "deploy-web"}, "deleted", 0)
	b.ws = mine
	if got := b.call(b.as(agent.OriginUser), "skill_view",
		object{"name": "deploy-web"}); got["description"] != "Deploys the web service step by step" ||
		got["version"] != 1.0 ||
		!strings.Contains(got["content"].(string), "1. Build the image") {
		t.Errorf("now it is %v", got)
	}
}
