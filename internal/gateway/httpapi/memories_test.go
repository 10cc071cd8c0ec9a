package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/inbox"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// waiting makes an agent write a memory that needs approval, and returns the ID of the
// pending write.
func (b *bundle) waiting(content string) int64 {
	b.T.Helper()
	b.do(request{method: http.MethodPatch, path: "/v1/settings",
		body: map[string]any{"write_approval": map[string]any{"memory": "all"}}}).into(http.StatusOK, nil)
	w, err := b.Memory.Save(b.T.Context(),
		agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginAgent, Op: "test/" + content},
		memories.SaveArgs{Content: content})
	testkit.Must(b.T, err)
	if w.Action != memories.Staged {
		b.T.Fatalf("written as %+v", w)
	}
	return w.Pending
}

func TestMemoriesAreKeptOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	add := request{method: http.MethodPost, path: "/v1/memories",
		body:   map[string]any{"content": "Lives in Osaka.", "store": "profile"},
		header: map[string]string{"Idempotency-Key": "k1"}}
	var w, again httpapi.MemoryWritten
	b.do(add).into(http.StatusCreated, &w)
	b.do(add).into(http.StatusCreated, &again)
	if len(w.IDs) != 1 || fmt.Sprint(w) != fmt.Sprint(again) {
		t.Fatalf("written %+v, then %+v", w, again)
	}
	add.body = map[string]any{"content": "Lives in Kyoto."}
	b.do(add).refused(fault.OpReused)
	b.post("/v1/memories", map[string]any{"content": "Lives in Osaka.", "store": "profile"}).into(http.StatusOK, &again)
	if again.Action != memories.Unchanged {
		t.Errorf("what is known was %s", again.Action)
	}
	b.post("/v1/memories", map[string]any{"content": "The password is hunter2-Zq81Kd02, AKIAIOSFODNN7EXAMPLE."}).
		refused(fault.SecretDetected)

	path := "/v1/memories/" + w.IDs[0]
	b.do(request{method: http.MethodPut, path: path, body: map[string]any{"content": "Lives in Kyoto."}}).
		into(http.StatusOK, &again)
	var e httpapi.Memory
	if b.get(path).into(http.StatusOK, &e); e.Content != "Lives in Kyoto." || e.Version != 2 ||
		e.Origin != string(agent.OriginUser) || e.Type != memory.Profile {
		t.Errorf("shown as %+v", e)
	}
	b.do(request{method: http.MethodDelete, path: path}).into(http.StatusOK, &again)
	var list httpapi.MemoryList
	if b.get("/v1/memories").into(http.StatusOK, &list); len(list.Memories) != 0 || len(list.Usage) != 2 {
		t.Errorf("listed %+v", list)
	}
	if b.get("/v1/memories?all=true&store=profile").into(http.StatusOK, &list); len(list.Memories) != 1 ||
		list.Memories[0].Status != memory.Removed {
		t.Errorf("listed %+v", list)
	}
	var h httpapi.MemoryHistory
	if b.get(path+"/history").into(http.StatusOK, &h); len(h.Revisions) != 3 ||
		h.Revisions[1].Content != "Lives in Kyoto." || h.Revisions[2].Content != "Lives in Osaka." {
		t.Errorf("history %+v", h)
	}
	b.get("/v1/memories/none").refused(fault.NotFound)
}

func TestAMemoryWriteWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := idle(t)
	yes, no := b.waiting("Works at night."), b.waiting("Likes surprises.")
	first, second := fmt.Sprintf("m%d", yes), fmt.Sprintf("m%d", no)
	var list httpapi.InboxList
	if b.get("/v1/inbox").into(http.StatusOK, &list); len(list.Items) != 2 || list.Items[0].ID != first ||
		list.Items[0].Summary == "" || list.Items[0].Origin != "agent" || list.Items[0].Kind != inbox.Memory {
		t.Fatalf("inbox %+v", list)
	}
	var shown httpapi.InboxDetail
	if b.get("/v1/inbox/"+first).into(http.StatusOK, &shown); !strings.Contains(shown.Diff, "Works at night.") {
		t.Errorf("shown %+v", shown)
	}
	b.do(request{method: http.MethodPost, path: "/v1/inbox/" + first + "/approve", body: b.seen(first),
		key: b.makeKey(b.Workspace, access.Write)}).refused(fault.OutOfScope)
	b.post("/v1/inbox/"+first+"/approve", b.seen(second)).refused(fault.VersionConflict) // that of another item
	if d := b.decided(first, "approve"); d.State != "approved" {
		t.Errorf("approved: %+v", d)
	}
	if d := b.decided(second, "reject"); d.State != "rejected" {
		t.Errorf("rejected: %+v", d)
	}
	b.post("/v1/inbox/"+second+"/reject", nil).refused(fault.NotFound)
	b.post("/v1/inbox/x1/reject", nil).refused(fault.InvalidArgument)
	var kept httpapi.MemoryList
	if b.get("/v1/memories").into(http.StatusOK, &kept); len(kept.Memories) != 1 ||
		kept.Memories[0].Content != "Works at night." {
		t.Errorf("kept %+v", kept)
	}
}

func TestTheSoulIsChangedAndRolledBackOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	put := func(body map[string]any) response {
		return b.do(request{method: http.MethodPut, path: "/v1/soul", body: body})
	}
	var w httpapi.SoulWritten
	put(map[string]any{"content": "Answer briefly."}).into(http.StatusOK, &w)
	put(map[string]any{"content": "No emoji.", "mode": "append", "expected_version": 1}).into(http.StatusOK, &w)
	put(map[string]any{"content": "Shout.", "expected_version": 1}).refused(fault.VersionConflict)
	b.post("/v1/soul/rollback", map[string]any{"version": 1}).into(http.StatusOK, &w)
	var s httpapi.Soul
	if b.get("/v1/soul").into(http.StatusOK, &s); s.Content != "Answer briefly." || s.Version != 3 {
		t.Errorf("soul %+v", s)
	}
	var h httpapi.SoulHistory
	if b.get("/v1/soul/history").into(http.StatusOK, &h); len(h.Versions) != 3 ||
		h.Versions[1].Content != "Answer briefly.\nNo emoji." {
		t.Errorf("history %+v", h)
	}
}

func TestSettingsAreChangedByWhatIsNamed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	patch := func(body string) response {
		return b.do(request{method: http.MethodPatch, path: "/v1/settings", body: body})
	}
	var s settings.Document
	patch(`{"time_zone":"Asia/Shanghai","nudge":{"every":5},"tokens_per_day":1000}`).into(http.StatusOK, nil)
	patch(`{"nudge":{"daily_cap":3},"tokens_per_day":null}`).into(http.StatusOK, nil)
	if b.get("/v1/settings").into(http.StatusOK, &s); s.TimeZone != "Asia/Shanghai" || s.Nudge.Every != 5 ||
		s.Nudge.DailyCap != 3 || s.TokensPerDay != 0 || s.Limits.CoreRunes != 2200 {
		t.Errorf("settings %+v", s)
	}
	if p := patch(`{"nudge":{"each":5}}`).refused(fault.InvalidArgument); !strings.Contains(p.Message, "each") {
		t.Errorf("says %q", p.Message)
	}
	for body, says := range map[string]string{
		`{"memory":{"agents":{"personal":"v9"}}}`:  `memory.agents.personal: agent version "v9"`,
		`{"memory":{"agents":{"summarize":"v9"}}}`: "memory.agents.summarize",
		`{"memory":{"agents":{"cook":"v1"}}}`:      "cook", `{"memory":{"modes":{"cook":{"thinking":"none"}}}}`: "cook",
		`{"memory":{"modes":{"retrieve":{"thinking":"aloud"}}}}`: "memory.modes.retrieve.thinking"} {
		if p := patch(body).refused(fault.InvalidArgument); !strings.Contains(p.Message, says) || p.Hint == "" {
			t.Errorf("%s is told %q, %q", body, p.Message, p.Hint)
		}
	}
	patch(`{"memory":{"agents":{"personal":"v1"},"modes":{"retrieve":{"profile":"typed"}}}}`).into(http.StatusOK, nil)
	if b.get("/v1/settings").into(http.StatusOK, &s); s.Memory.Agents.Personal != "v1" ||
		s.Memory.Agents.Summarize != "" || s.Memory.Modes.Retrieve.Profile != settings.Typed {
		t.Errorf("settings %+v", s.Memory)
	}
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: `{}`,
		key: b.makeKey(b.Workspace, access.Write)}).refused(fault.OutOfScope)
}

// A deleted core or profile memory is restored under its ID, once per idempotency key.
func TestADeletedPromptMemoryIsRestoredUnderItsID(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for _, store := range []string{"core", "profile"} {
		var w httpapi.MemoryWritten
		b.post("/v1/memories", map[string]any{"content": "Lives in Osaka.", "store": store}).
			into(http.StatusCreated, &w)
		path := "/v1/memories/" + w.IDs[0]
		b.do(request{method: http.MethodDelete, path: path}).into(http.StatusOK, nil)
		var e httpapi.Memory
		if b.get(path).into(http.StatusOK, &e); e.Status != memory.Removed {
			t.Errorf("after the deletion: %+v", e)
		}
		for range 2 {
			var back httpapi.MemoryWritten
			b.do(request{method: http.MethodPost, path: path + "/restore",
				header: map[string]string{"Idempotency-Key": "again/" + store}}).into(http.StatusOK, &back)
			if back.Action != memories.Restored || len(back.IDs) != 1 || back.IDs[0] != w.IDs[0] ||
				string(back.Store) != store {
				t.Errorf("restored as %+v", back)
			}
		}
		if b.get(path).into(http.StatusOK, &e); e.Status != memory.Active || e.Content != "Lives in Osaka." ||
			e.ID != w.IDs[0] || e.Version != 3 || string(e.Type) != store {
			t.Errorf("after the restoration: %+v", e)
		}
		var h httpapi.MemoryHistory
		if b.get(path+"/history").into(http.StatusOK, &h); len(h.Revisions) != 3 ||
			h.Revisions[0].Action != memory.Restore || h.Revisions[1].Action != memory.Remove {
			t.Errorf("history %+v", h)
		}
		var list httpapi.MemoryList
		if b.get("/v1/memories?store="+store).into(http.StatusOK, &list); len(list.Memories) != 1 {
			t.Errorf("listed %+v", list)
		}
		b.post(path+"/restore?version=9", nil).refused(fault.NotFound)
	}
}
