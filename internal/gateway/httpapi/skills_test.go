package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/inbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestASkillIsFoundReadAndCarriedAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	head := b.distilled()

	var list httpapi.SkillList
	for path, want := range map[string]int{"/v1/skills": 1, "/v1/skills?status=active": 1,
		"/v1/skills?status=archived": 0, "/v1/skills?q=ROLLBACK": 1, "/v1/skills?q=nothing": 0,
		"/v1/skills?status=all&limit=1": 1} {
		b.get(path).into(http.StatusOK, &list)
		if len(list.Skills) != want {
			t.Errorf("%s lists %d skills, want %d", path, len(list.Skills), want)
		}
	}
	var found httpapi.SearchResults
	b.get("/v1/search?q=service+deployment+rollback").into(http.StatusOK, &found)
	if len(found.Results) != 1 || !found.Results[0].Exact {
		t.Errorf("search finds %+v", found.Results)
	}
	var shown httpapi.SkillDetail
	if b.get("/v1/skills/1").into(http.StatusOK, &shown); shown.Impressions != 1 {
		t.Errorf("%d impressions after a search", shown.Impressions)
	}
	b.get("/v1/search?q=checkout+deploy+rollback&explain=true&set=w_vector=0").into(http.StatusOK, &found)
	if len(found.Found) == 0 || found.Found[0].Explanation == nil || found.Explanation == nil || !found.Lexical.Exact ||
		*found.Explanation.Parameters.WVector != 0 || found.Found[0].Explanation.Parts.Vector != 0 {
		t.Errorf("an explained search finds %+v, %+v", found.Found, found.Explanation)
	}
	found = httpapi.SearchResults{}
	for path, want := range map[string]int{"kinds=turn": 1, "kinds=turn,skill": 2, "kinds=memory": 0,
		"kinds=turn&before=2001-01-01T00:00:00Z": 0, "kinds=turn&conversation=nowhere": 0} {
		kinds := map[string]bool{}
		b.get("/v1/search?limit=50&q=checkout+deploy+rollback+service&"+path).into(http.StatusOK, &found)
		for _, f := range found.Found {
			kinds[f.Kind] = true
		}
		if len(kinds) != want {
			t.Errorf("%s: found kinds %v, want %d", path, kinds, want)
		}
		found = httpapi.SearchResults{}
	}

	var detail httpapi.SkillDetail
	b.get(fmt.Sprintf("/v1/skills/%d", head.ID)).into(http.StatusOK, &detail)
	if detail.Name != "service-deployment-rollback" || !strings.Contains(detail.Body, "Roll back and wait") ||
		!strings.HasPrefix(detail.SkillMD, "---\n") || len(detail.Files) != 2 || len(detail.Sources) == 0 {
		t.Errorf("skill %+v", detail)
	}
	var item skill.MemoryItem
	b.get("/v1/skills/1?view=memory").into(http.StatusOK, &item)
	if m := item.Metadata; item.ID != "1" || m.MemoryType != "SkillMemory" || m.Status != "activated" ||
		len(m.Sources) != 14 || m.UserID != "test" || m.URL != "/v1/skills/1/versions/1/package" ||
		len(m.Scripts) != 1 {
		t.Errorf("memory item %+v", item)
	}

	var versions httpapi.VersionList
	b.get("/v1/skills/1/versions").into(http.StatusOK, &versions)
	if len(versions.Versions) != 1 || versions.Versions[0].Number != 1 {
		t.Errorf("versions %+v", versions.Versions)
	}
	var version httpapi.VersionDetail
	b.get("/v1/skills/1/versions/1").into(http.StatusOK, &version)
	if version.Version != 1 || version.SkillMD != detail.SkillMD {
		t.Errorf("version %+v", version)
	}
	var diff httpapi.Diff
	b.get("/v1/skills/1/diff").into(http.StatusOK, &diff)
	if !strings.Contains(diff.Diff, "+++ v1/SKILL.md") {
		t.Errorf("diff %s", diff.Diff)
	}
	b.get("/v1/skills/1/versions/9").refused(fault.NotFound)
	b.get("/v1/skills/no-such-skill").refused(fault.NotFound)
}

func TestTheListOfSkillsIsReadInPages(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for _, name := range []string{"weather", "rollback", "cooking"} {
		archive, err := skill.Zip(name, []byte(
			"---\nname: "+name+"\ndescription: How to do it\n---\n\n## Procedure\n\n1. Begin with "+name+"\n"), nil)
		testkit.Must(t, err)
		b.do(request{method: http.MethodPost, path: "/v1/skills/upload", body: archive,
			header: map[string]string{"Content-Type": "application/zip"}}).into(http.StatusAccepted, nil)
	}
	b.admin("update cairn.skills set category = 'kitchen' where name = 'cooking'")
	var names []string
	path := "/v1/skills?limit=2"
	for cursor := ""; ; {
		var list httpapi.SkillList
		b.get(path+cursor).into(http.StatusOK, &list)
		for _, s := range list.Skills {
			names = append(names, s.Category+"/"+s.Name)
		}
		if len(list.Skills) > 2 || list.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(list.NextCursor)
	}
	if got := strings.Join(names, " "); got != "/rollback /weather kitchen/cooking" {
		t.Errorf("the list is %s", got)
	}
	if p := b.get("/v1/skills?cursor=lost").refused(fault.InvalidArgument); !strings.Contains(p.Hint, "next_cursor") {
		t.Errorf("list with an unknown cursor: %+v", p)
	}
}

func TestAPackageIsTheStoredFileByteForByte(t *testing.T) {
	t.Parallel()
	b := setup(t)
	head := b.distilled()
	stored, err := os.ReadFile(filepath.Join(b.Packages, filepath.FromSlash(head.PackageKey)))
	testkit.Must(t, err)
	sum := fmt.Sprintf("%x", sha256.Sum256(stored))
	for _, path := range []string{"/v1/skills/1/package", "/v1/skills/service-deployment-rollback/package",
		"/v1/skills/1/versions/1/package", "/v1/skills/1/package?style=underscore"} {
		res := b.get(path)
		res.into(http.StatusOK, nil)
		if !bytes.Equal(res.body, stored) || res.header.Get("ETag") != `"`+sum+`"` ||
			res.header.Get("Content-Type") != "application/zip" ||
			res.header.Get("Content-Disposition") != "attachment; filename=service_deployment_rollback.zip" {
			t.Errorf("%s: %d bytes of %d, header %v", path, len(res.body), len(stored), res.header)
		}
	}
	if res := b.do(request{path: "/v1/skills/1/package",
		header: map[string]string{"If-None-Match": `"` + sum + `"`}}); res.status != http.StatusNotModified ||
		len(res.body) != 0 {
		t.Errorf("with the tag: status %d, %d bytes", res.status, len(res.body))
	}
	hyphens := b.get("/v1/skills/1/package?style=hyphen")
	if !strings.Contains(hyphens.header.Get("Content-Disposition"), "service-deployment-rollback.zip") ||
		!bytes.Contains(hyphens.body, []byte("service-deployment-rollback/SKILL.md")) ||
		hyphens.header.Get("ETag") != fmt.Sprintf(`"%x"`, sha256.Sum256(hyphens.body)) {
		t.Errorf("in the other style: %v", hyphens.header)
	}
	if wrong, advice := skill.CheckPortable(hyphens.body); len(wrong)+len(advice) > 0 {
		t.Errorf("by the Agent Skills specification: %q, %q", wrong, advice)
	}
	if wrong, advice := skill.CheckPortable(stored); len(wrong) != 1 ||
		!strings.Contains(wrong[0], "service_deployment_rollback") || len(advice) > 0 {
		t.Errorf("with underscores, by the Agent Skills specification: %q, %q", wrong, advice)
	}
	b.get("/v1/skills/1/package?style=camel").refused(fault.InvalidArgument)

	testkit.Must(t, os.WriteFile(filepath.Join(b.Packages, filepath.FromSlash(head.PackageKey)), []byte("damaged"),
		0o644))
	b.get("/v1/skills/1/package").refused(fault.Internal)
}

func TestASkillIsChangedThroughTheAPI(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	b.distilled()
	var head skill.Head
	step := func(path string, body any) {
		t.Helper()
		b.post("/v1/skills/1/"+path, body).into(http.StatusOK, &head)
	}
	if step("archive", nil); head.Status != skill.Archived {
		t.Errorf("archived: %+v", head)
	}
	b.post("/v1/inbox/s1/approve", b.seen("s1")).refused(fault.VersionConflict) // not a candidate
	if step("restore", nil); head.Status != skill.Active {
		t.Errorf("restored: %+v", head)
	}
	if step("pin", map[string]any{"pinned": true}); !head.Pinned {
		t.Errorf("pinned: %+v", head)
	}
	use := map[string]any{"use_id": "u1", "outcome": "pass"}
	before := head.Eta
	step("uses", use)
	if step("uses", use); head.Uses != 1 || head.Eta <= before {
		t.Errorf("after the same use twice: %d uses, reliability %v from %v", head.Uses, head.Eta, before)
	}
	b.post("/v1/skills/9/uses", use).refused(fault.NotFound)
	b.post("/v1/skills/1/uses", map[string]any{"use_id": "u2", "outcome": "perhaps"}).refused(fault.InvalidArgument)
	var voted httpapi.VoteResult
	for vote, eta := range map[string]float32{"down": .5, "none": .75} { // one use has passed
		b.put("/v1/skills/1/vote", map[string]any{"vote": vote}).into(http.StatusOK, &voted)
		b.put("/v1/skills/1/vote", map[string]any{"vote": vote}).into(http.StatusOK, &voted)
		if voted.Eta < eta-.01 || voted.Eta > eta+.01 || !strings.HasPrefix(voted.Voter, "key/") {
			t.Errorf("vote %s: %+v, want the reliability %v", vote, voted, eta)
		}
	}
	b.put("/v1/skills/1/vote", map[string]any{"vote": "perhaps"}).refused(fault.InvalidArgument)
	b.put("/v1/skills/9/vote", map[string]any{"vote": "up"}).refused(fault.NotFound)

	for verb, status := range map[string]skill.Status{"approve": skill.Active, "reject": skill.Archived} {
		b.library(func(ctx context.Context, tx store.Tx) error {
			return tx.Skills().SetStatus(ctx, 1, skill.Active, skill.Candidate)
		})
		b.decided("s1", verb)
		if b.get("/v1/skills/1").into(http.StatusOK, &head); head.Status != status {
			t.Errorf("%s: %+v", verb, head)
		}
		step("restore", nil)
	}
}

func TestAPendingChangeIsApprovedOrRejected(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	b.distilled()
	propose := func(base int, description string) {
		t.Helper()
		b.library(func(ctx context.Context, tx store.Tx) error {
			v, err := tx.Skills().Version(ctx, 1, base)
			if err != nil {
				return err
			}
			v.Description, v.ContentSHA[0], v.Run = description, v.ContentSHA[0]+1, ""
			_, err = tx.PendingSkills().PutPending(ctx,
				skill.Pending{Skill: 1, Base: base, Version: v, Reason: "upload", Origin: "import"})
			return err
		})
	}
	propose(1, "Better said")
	propose(1, "Worse said")
	if ids := b.inboxIDs(inbox.Change); !slices.Equal(ids, []string{"c1", "c2"}) {
		t.Fatalf("inbox %q", ids)
	}
	var shown httpapi.InboxDetail
	b.get("/v1/inbox/c1").into(http.StatusOK, &shown)
	if !strings.Contains(shown.Diff, "+description: Better said") || shown.Base != 1 || len(shown.Evidence) == 0 {
		t.Errorf("shown %+v", shown)
	}
	outdated := b.seen("c2")
	if got := b.decided("c1", "approve"); got.Version != 2 {
		t.Errorf("approved: %+v", got)
	}
	b.post("/v1/inbox/c2/approve", outdated).refused(fault.VersionConflict)     // the item has changed
	b.post("/v1/inbox/c2/approve", b.seen("c2")).refused(fault.VersionConflict) // the skill has a newer version
	b.decided("c2", "reject")
	b.post("/v1/inbox/c2/reject", nil).refused(fault.NotFound)

	var head skill.Head
	b.post("/v1/skills/1/rollback", map[string]any{"to": 1, "base": 1}).refused(fault.VersionConflict)
	b.post("/v1/skills/1/rollback", map[string]any{"to": 1, "base": 2}).into(http.StatusOK, &head)
	if head.Version != 3 {
		t.Errorf("rolled back: %+v", head)
	}
	var diff httpapi.Diff
	b.get("/v1/skills/1/diff?from=1&to=3").into(http.StatusOK, &diff)
	if diff.Diff != "" {
		t.Errorf("the rollback differs: %s", diff.Diff)
	}
}

func (b *bundle) library(fn func(context.Context, store.Tx) error) {
	b.T.Helper()
	testkit.Must(b.T, b.Library.Store.InWorkspace(b.T.Context(), b.Workspace.ID, fn))
}

func TestADraftShowsItsScoreAndIsApproved(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.Quality = true })
	b.Model.On(openaitest.Rule{Stage: "judge", Reply: apptest.Judgment(7, "Nothing is checked.")})
	head := b.distilled()
	var list httpapi.SkillList
	for path, want := range map[string]int{"/v1/skills": 1, "/v1/skills?status=draft": 1,
		"/v1/skills?status=active": 0} {
		b.get(path).into(http.StatusOK, &list)
		if len(list.Skills) != want {
			t.Errorf("%s lists %d skills, want %d", path, len(list.Skills), want)
		}
	}
	var found httpapi.SearchResults
	b.get("/v1/search?q=service+deployment+rollback").into(http.StatusOK, &found)
	if len(found.Results) != 0 {
		t.Errorf("search finds %+v", found.Results)
	}
	judged := func(q *skill.Quality) bool {
		return q != nil && q.Score == 4.4 && q.Reason == "Nothing is checked." && len(q.Criteria) == 8 &&
			q.Criteria[0].Quote == "Service Deployment Rollback"
	}
	var detail httpapi.SkillDetail
	b.get(fmt.Sprintf("/v1/skills/%d", head.ID)).into(http.StatusOK, &detail)
	if detail.Status != skill.DraftStatus || !judged(detail.Quality) {
		t.Errorf("the skill is %s with %+v", detail.Status, detail.Quality)
	}
	var versions httpapi.VersionList
	b.get("/v1/skills/1/versions").into(http.StatusOK, &versions)
	if len(versions.Versions) != 1 || !judged(versions.Versions[0].Quality) {
		t.Errorf("versions %+v", versions.Versions)
	}
	b.decided("s1", "approve")
	b.get("/v1/skills/1").into(http.StatusOK, &head)
	if head.Status != skill.Active {
		t.Errorf("approved: %+v", head)
	}
}
