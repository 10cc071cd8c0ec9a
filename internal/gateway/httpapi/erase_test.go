package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
)

func TestAWorkspaceIsErasedOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.distilled()
	for _, scope := range []access.Scope{access.Read, access.Write} {
		b.do(request{method: http.MethodDelete, path: "/v1/workspace", key: b.makeKey(b.Workspace, scope)}).
			refused(fault.OutOfScope)
	}
	var plan erasure.Plan
	b.do(request{method: http.MethodDelete, path: "/v1/workspace?dry_run=true"}).into(http.StatusOK, &plan)
	if plan.Rows["messages"] != 14 || plan.Rows["skills"] != 1 || plan.Rows["api_keys"] != 3 {
		t.Errorf("planned %v", plan.Rows)
	}
	b.get("/v1/skills").into(http.StatusOK, nil)

	var e httpapi.ErasureReport
	b.do(request{method: http.MethodDelete, path: "/v1/workspace?wait=60"}).into(http.StatusOK, &e)
	if !e.Ended || e.Deleted["messages"] != 14 || e.Objects != 2 || e.ObjectsLeft != 0 || e.Links != nil {
		t.Errorf("erased %+v", e)
	}
	for table, n := range e.Remaining {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if res := b.get("/v1/skills"); res.status != http.StatusUnauthorized && res.status != http.StatusNotFound &&
		res.status != http.StatusGone {
		t.Errorf("the key still opens: %d %s", res.status, res.body)
	}
	fresh, err := b.Store.Workspace(t.Context(), b.Workspace.Name, true)
	if err != nil || fresh.ID == b.Workspace.ID {
		t.Fatalf("the name stands for %+v, %v", fresh, err)
	}
	var list httpapi.SkillList
	b.do(request{path: "/v1/skills?status=all", key: b.makeKey(fresh, access.Read)}).into(http.StatusOK, &list)
	if len(list.Skills) != 0 {
		t.Errorf("the fresh workspace has %+v", list.Skills)
	}
}

func TestAConversationIsErasedOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.RateLimit = 0 })
	b.distilled()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello."})
	b.Say("a/b c", 1, "Hello, I am Ada.")
	const path = "/v1/conversations/a%2Fb%20c"
	b.do(request{method: http.MethodDelete, path: "/v1/conversations/unknown"}).refused(fault.NotFound)
	b.do(request{method: http.MethodDelete, path: path + "?derived=burn"}).refused(fault.InvalidArgument)
	b.do(request{method: http.MethodDelete, path: path, key: b.makeKey(b.Workspace, access.Write)}).
		refused(fault.OutOfScope)

	var e httpapi.ErasureReport
	b.do(request{method: http.MethodDelete, path: path}).into(http.StatusAccepted, &e)
	if e.Ended || e.Links == nil || e.Links.Self != fmt.Sprintf("/v1/erasures/%d", e.ID) {
		t.Fatalf("accepted %+v", e)
	}
	for !e.Ended {
		b.get(e.Links.Self).into(http.StatusOK, &e)
	}
	if e.Deleted["messages"] != 2 || e.Deleted["conversations"] != 1 || e.Deleted["turns"] != 1 ||
		e.Deleted["llm_calls"] != 1 || e.Deleted["skills"] != 0 {
		t.Errorf("deleted %v", e.Deleted)
	}
	b.do(request{method: http.MethodDelete, path: path}).refused(fault.NotFound)
	b.get("/v1/skills/service-deployment-rollback").into(http.StatusOK, nil)

	other, err := b.Store.Workspace(t.Context(), "other", true)
	if err != nil {
		t.Fatal(err)
	}
	b.do(request{path: e.Links.Self, key: b.makeKey(other, access.Admin)}).refused(fault.NotFound)
}

func TestASubjectIsErasedOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) { c.RateLimit = 0 })
	for _, m := range []object{{"user_id": "Ann Lee", "messages": "Likes pears.", "infer": false},
		{"user_id": "Bo", "messages": "Likes plums.", "infer": false}} {
		b.do(request{method: http.MethodPost, path: "/mem0/memories", body: m}).into(http.StatusOK, nil)
	}
	const path = "/v1/targets/Ann%20Lee"
	b.do(request{method: http.MethodDelete, path: "/v1/targets/Cleo"}).refused(fault.NotFound)
	b.do(request{method: http.MethodDelete, path: "/v1/targets/Cleo?dry_run=true"}).refused(fault.NotFound)
	b.do(request{method: http.MethodDelete, path: path, key: b.makeKey(b.Workspace, access.Write)}).
		refused(fault.OutOfScope)

	var plan erasure.Plan
	b.do(request{method: http.MethodDelete, path: path + "?dry_run=true"}).into(http.StatusOK, &plan)
	if plan.Rows["memories"] != 1 || plan.Rows["search_docs"] != 1 || plan.Rows["memory_targets"] != 1 {
		t.Errorf("planned %v", plan.Rows)
	}
	var e httpapi.ErasureReport
	b.do(request{method: http.MethodDelete, path: path + "?wait=60"}).into(http.StatusOK, &e)
	if !e.Ended || e.Deleted["memories"] != 1 || e.Subject == "" || e.Links == nil {
		t.Errorf("erased %+v", e)
	}
	b.get(e.Links.Self).into(http.StatusOK, &e)
	for table, n := range e.Remaining {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	b.do(request{method: http.MethodDelete, path: path}).refused(fault.NotFound)
}
