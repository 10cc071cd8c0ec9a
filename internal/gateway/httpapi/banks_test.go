package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// A bank that is exported, changed and imported gets a new version, which can be
// read, compared and rolled back over HTTP.
func TestABankIsCarriedOutChangedAndTakenBack(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	var list httpapi.BankList
	b.get("/v1/banks").into(http.StatusOK, &list)
	if len(list.Banks) != 1 || list.Banks[0].Name != "default" || list.Banks[0].Version != 1 ||
		list.Banks[0].Skills != 10 {
		t.Fatalf("banks %+v", list.Banks)
	}
	var seeded httpapi.BankDetail
	b.get("/v1/banks/default").into(http.StatusOK, &seeded)
	if seeded.Version.Number != 1 || len(seeded.Skills) != 10 || seeded.Skills[0].ID == "" ||
		seeded.Skills[0].Skill.Description == "" {
		t.Errorf("%+v", seeded)
	}
	var files httpapi.BankFiles
	b.get("/v1/banks/default/export").into(http.StatusOK, &files)
	if len(files.Files) != 11 {
		t.Fatalf("files %v", slices.Collect(maps.Keys(files.Files)))
	}
	var same httpapi.BankDetail
	b.post("/v1/banks/default/import", files).into(http.StatusOK, &same)
	if same.Version.Number != 1 {
		t.Errorf("what it says already became version %d", same.Version.Number)
	}
	files.Files["capture_dates.md"] = string(
		memoryskill.Render(memoryskill.Skill{Name: "capture_dates", Description: "Adds dates.", Purpose: "Keep them.",
			WhenToUse:  []string{"The span mentions them"},
			HowToApply: []string{"One fact in one item"}, Constraints: []string{"Ignore greetings"},
			Action: memoryskill.Insert}))
	var changed httpapi.BankDetail
	b.post("/v1/banks/default/import", files).into(http.StatusOK, &changed)
	if changed.Version.Number != 2 || len(changed.Skills) != 11 {
		t.Errorf("%+v", changed.Version)
	}
	var diff httpapi.BankDiff
	b.get("/v1/banks/default/diff?from=1").into(http.StatusOK, &diff)
	if diff.From != 1 || diff.To != 2 || diff.PolicyChanged || len(diff.Changes) != 1 ||
		diff.Changes[0].Kind != memoryskill.Added || diff.Changes[0].Before != nil ||
		diff.Changes[0].After.Skill.Name != "capture_dates" {
		t.Errorf("%+v", diff)
	}
	var back httpapi.BankDetail
	b.post("/v1/banks/default/rollback", map[string]any{"to": 1}).into(http.StatusOK, &back)
	if back.Version.Number != 3 || back.Version.Snapshot != seeded.Version.Snapshot || len(back.Skills) != 10 {
		t.Errorf("%+v", back.Version)
	}
	var versions httpapi.BankVersionList
	b.get("/v1/banks/default/versions?limit=2").into(http.StatusOK, &versions)
	if len(versions.Versions) != 2 || versions.Versions[0].Number != 3 || versions.Versions[0].Action != "rollback" ||
		versions.Versions[1].Number != 2 {
		t.Errorf("%+v", versions)
	}
	b.get("/v1/banks/default?version=2").into(http.StatusOK, &changed)
	if changed.Version.Number != 2 || len(changed.Skills) != 11 {
		t.Errorf("an earlier one: %+v", changed.Version)
	}

	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	b.do(request{path: "/v1/banks/default", key: b.makeKey(other, access.Read)}).into(http.StatusOK, &changed)
	if changed.Version.Number != 1 {
		t.Errorf("another workspace has version %d", changed.Version.Number)
	}
}

func TestABankThatCannotBeChangedSaysWhy(t *testing.T) {
	t.Parallel()
	b := idle(t)
	writer := b.makeKey(b.Workspace, access.Write)
	for name, c := range map[string]struct {
		request
		code fault.Code
	}{
		"a bank that is not there":    {request{path: "/v1/banks/none"}, fault.NotFound},
		"a version that is not there": {request{path: "/v1/banks/default?version=9"}, fault.NotFound},
		"a name that cannot be":       {request{path: "/v1/banks/A%20b"}, fault.InvalidArgument},
		"back to nothing": {request{method: http.MethodPost, path: "/v1/banks/default/rollback",
			body: map[string]any{"to": 9}}, fault.NotFound},
		"no files": {request{method: http.MethodPost, path: "/v1/banks/default/import",
			body: map[string]any{"files": map[string]any{}}}, fault.InvalidArgument},
		"a rollback by a writer": {request{method: http.MethodPost, path: "/v1/banks/default/rollback",
			body: map[string]any{"to": 1}, key: writer}, fault.OutOfScope},
		"an import by a writer": {request{method: http.MethodPost, path: "/v1/banks/default/import",
			body: map[string]any{"files": map[string]any{"a.md": "x"}}, key: writer}, fault.OutOfScope},
	} {
		t.Log(name)
		b.do(c.request).refused(c.code)
	}
	p := b.post("/v1/banks/made/import", map[string]any{
		"files": map[string]any{"a.md": "# Broken", "b.md": "# Broken, too"}}).refused(fault.InvalidArgument)
	if !strings.Contains(p.Message, "a.md") || !strings.Contains(p.Message, "b.md") {
		t.Errorf("it does not say which files: %s", p.Message)
	}
}

// A bank that follows a shared one has its skills and its own, and stays
// unchanged if the shared bank is unchanged.
func TestABankFollowsASharedOne(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.post("/v1/banks/default/follow", map[string]any{}).refused(fault.NotFound) // there is no shared bank
	shared, err := b.Store.Workspace(t.Context(), bank.SharedWorkspace, true)
	testkit.Must(t, err)
	markdown := func(name, about string) []byte {
		return memoryskill.Render(memoryskill.Skill{Name: name, Description: about, Purpose: "Keep them.",
			WhenToUse: []string{"The span mentions them"}, HowToApply: []string{"One fact in one item"},
			Constraints: []string{"Ignore greetings"}, Action: memoryskill.Insert})
	}
	_, err = b.Learning.Banks.Import(t.Context(), shared.ID, "default",
		map[string][]byte{"a.md": markdown("capture_dates", "Adds dates.")})
	testkit.Must(t, err)
	b.post("/v1/banks/default/import", map[string]any{
		"files": map[string]any{"b.md": string(markdown("capture_trees", "Notes which trees grow where."))}}).
		into(http.StatusOK, &httpapi.BankDetail{})
	var followed httpapi.BankDetail
	for range 2 { // the second call changes nothing
		b.post("/v1/banks/default/follow", map[string]any{}).into(http.StatusOK, &followed)
	}
	var names []string
	for _, s := range followed.Skills {
		names = append(names, s.Skill.Name)
	}
	if followed.Version.Number != 3 || !slices.Contains(names, "capture_dates") ||
		!slices.Contains(names, "capture_trees") || len(names) != 12 ||
		!strings.Contains(followed.Version.Reason, "follows the shared bank default, version 2") {
		t.Errorf("%+v %v", followed.Version, names)
	}
	b.post("/v1/banks/default/follow", map[string]any{"shared": "none"}).refused(fault.NotFound)
	b.post("/v1/banks/default/follow", map[string]any{"shared": "A b"}).refused(fault.InvalidArgument)
	b.do(request{method: http.MethodPost, path: "/v1/banks/default/follow", body: map[string]any{},
		key: b.makeKey(b.Workspace, access.Write)}).refused(fault.OutOfScope)
	b.do(request{method: http.MethodPost, path: "/v1/banks/default/follow", body: map[string]any{},
		key: b.makeKey(shared, access.Admin)}).refused(fault.InvalidArgument)
	if head, err := b.Learning.Banks.Head(t.Context(), shared.ID, "default"); err != nil || head.Head != 2 ||
		head.Bank.Len() != 11 {
		t.Errorf("the shared bank is version %d with %d skills, %v", head.Head, head.Bank.Len(), err)
	}
}

// Updates of a policy are listed over HTTP, for one bank of one workspace.
func TestUpdatesOfAPolicyAreListed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var none httpapi.PolicyUpdateList
	b.get("/v1/banks/default/updates").into(http.StatusOK, &none)
	if none.Updates == nil || len(none.Updates) != 0 {
		t.Errorf("%+v", none)
	}
	_, err := b.Admin().Exec(t.Context(), `with made as (insert into cairn.runs (workspace_id, id, kind, `+
		`business_key, generation, args_sha, spec, workflow_id) values ($1, `+pgtest.RunID+`, `+
		`'adapt', 'k', 1, sha256('x'), '{}', 'w') returning id)
insert into cairn.policy_updates (workspace_id, bank_id, number, run_id, base, state, policy_sha, optimizer_sha, `+
		`decisions, shadow, canary_at)
select $1, b.id, 1, made.id, 1, 'canary', 'p', 'o', 16, '{"alike":0.75}', now() from made, cairn.banks b where `+
		`b.workspace_id = $1`, b.Workspace.ID)
	testkit.Must(t, err)
	var list httpapi.PolicyUpdateList
	b.get("/v1/banks/default/updates").into(http.StatusOK, &list)
	if len(list.Updates) != 1 || list.Updates[0].State != "canary" || list.Updates[0].Decisions != 16 ||
		list.Updates[0].Shadow.Alike != 0.75 || list.Updates[0].Canary == nil ||
		list.Updates[0].Canary.Comparison != nil {
		t.Errorf("%+v", list.Updates)
	}
	b.get("/v1/banks/missing/updates").refused(fault.NotFound)
	b.get("/v1/banks/default/updates?limit=0").refused(fault.InvalidArgument)
}

// Probes are listed over HTTP, for one bank of one workspace.
func TestProbesAreListed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var none httpapi.ProbeList
	b.get("/v1/banks/default/probes").into(http.StatusOK, &none)
	if none.Probes == nil || len(none.Probes) != 0 {
		t.Errorf("%+v", none)
	}
	_, err := b.Admin().Exec(t.Context(), `with said as (insert into cairn.conversations (workspace_id, `+
		`external_id, channel) values ($1, 'c', 'chat') returning id),
made as (insert into cairn.runs (workspace_id, id, kind, business_key, generation, args_sha, spec, workflow_id) `+
		`values ($1, `+pgtest.RunID+`, 'probe', 'k', 1, sha256('x'), '{}', 'w') returning id)
insert into cairn.probes (workspace_id, run_id, number, conversation_id, bank_id, question, answer, evidence, `+
		`decisions, state, score)
select $1, made.id, n, said.id, b.id, 'How many?', 'nine', '{2}', array[made.id || '/0'], case n when 0 then `+
		`'scored' else 'open' end, case n when 0 then 0.5 end from made, said, cairn.banks b, `+
		`generate_series(0, 1) n where b.workspace_id = $1`, b.Workspace.ID)
	testkit.Must(t, err)
	var list httpapi.ProbeList
	b.get("/v1/banks/default/probes").into(http.StatusOK, &list)
	if len(list.Probes) != 2 || list.Probes[0].State != "scored" || *list.Probes[0].Score != 0.5 ||
		list.Probes[0].Question != "How many?" || list.Probes[1].Score != nil ||
		!slices.Equal(list.Probes[0].Evidence, []int{2}) {
		t.Errorf("%+v", list.Probes)
	}
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	b.do(request{path: "/v1/banks/default/probes", key: b.makeKey(other, access.Read)}).into(http.StatusOK, &none)
	if len(none.Probes) != 0 {
		t.Errorf("another workspace sees %+v", none.Probes)
	}
	b.get("/v1/banks/missing/probes").refused(fault.NotFound)
	b.get("/v1/banks/default/probes?limit=1001").refused(fault.InvalidArgument)
}
