package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
)

// The calls of mem0's npm client and the response fields that it reads. `make clients`
// runs the client itself.
func TestMem0PlatformClientsAreAnswered(t *testing.T) {
	t.Parallel()
	b := idle(t)
	m := mem0{b, "/mem0", map[string]string{"Authorization": "Token " + b.key}}
	var ping struct {
		Status  string
		Project string `json:"project_id"`
	}
	if r := m.do(http.MethodGet, "/v1/ping/", nil); r.header.Get("X-Request-ID") == "" {
		t.Error("no X-Request-ID")
	} else if r.into(http.StatusOK, &ping); ping.Status != "ok" || ping.Project == "" {
		t.Errorf("ping %s", r.body)
	}
	add := func(text string, more object) string {
		t.Helper()
		body := object{"messages": []object{{"role": "user", "content": text}}, "infer": false}
		for k, v := range more {
			body[k] = v
		}
		var out mem0Results
		m.do(http.MethodPost, "/v3/memories/add/", body).into(http.StatusOK, &out)
		if len(out.Results) != 1 {
			t.Fatalf("added %+v", out)
		}
		return out.Results[0].ID
	}
	miso := add("The cat is called Miso.",
		object{"user_id": "ada", "app_id": "shop", "metadata": object{"petKind": "cat"}, "timestamp": 1700000000})
	tea := add("Drinks green tea.", object{"user_id": "ada", "run_id": "r1", "expiration_date": "2999-01-01"})
	add("Bob sails.", object{"user_id": "bob/by the sea"})

	var page struct {
		Count          int
		Next, Previous *string
		Results        []mem0Memory
	}
	ofAda := object{"filters": object{"user_id": "ada"}}
	if m.do(http.MethodPost, "/v3/memories/?page=1&page_size=1", ofAda).into(http.StatusOK, &page); page.Count != 2 ||
		len(page.Results) != 1 || page.Results[0].ID != miso || page.Next == nil || page.Previous != nil {
		t.Errorf("first page %+v", page)
	}
	if next := strings.TrimPrefix(*page.Next, "/mem0"); next == "" {
		t.Errorf("next is %q", *page.Next)
	} else if m.do(http.MethodPost, next, ofAda).into(http.StatusOK, &page); len(page.Results) != 1 ||
		page.Results[0].ID != tea || page.Next != nil || page.Previous == nil {
		t.Errorf("second page %+v", page)
	}
	for what, body := range map[string]object{
		"of the app":  {"filters": object{"app_id": "shop"}},
		"by metadata": {"filters": object{"user_id": "ada"}, "metadata": object{"petKind": "cat"}},
		"by run":      {"filters": object{"AND": []object{{"user_id": "ada"}, {"NOT": []object{{"run_id": "r1"}}}}}},
	} {
		if m.do(http.MethodPost, "/v3/memories/", body).into(http.StatusOK, &page); page.Count != 1 ||
			page.Results[0].ID != miso {
			t.Errorf("%s: %+v", what, page)
		}
	}
	for date, count := range map[string]int{"2000-01-01": 0, "2999-01-01": 2} {
		if m.do(http.MethodPost, "/v3/memories/", object{"filters": object{"user_id": "ada"}, "end_date": date}).
			into(http.StatusOK, &page); page.Count != count {
			t.Errorf("until %s: %+v", date, page)
		}
	}

	var one mem0Memory
	m.do(http.MethodPut, "/v1/memories/"+tea+"/", `{"expiration_date":null}`).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/v1/memories/"+tea+"/", nil).into(http.StatusOK, &one); one.Expires != "" ||
		one.RunID != "r1" {
		t.Errorf("without a date %+v", one)
	}
	m.do(http.MethodPut, "/v1/batch/", object{
		"memories": []object{{"memory_id": miso, "text": "The cat is called Nori."},
			{"memory_id": tea, "text": "Drinks black tea."}}}).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/v1/memories/"+tea+"/", nil).into(http.StatusOK, &one); one.Memory != "Drinks black tea." {
		t.Errorf("updated in a batch %+v", one)
	}
	m.detail(m.do(http.MethodDelete, "/v1/batch/",
		object{"memories": []object{{"memory_id": tea}, {"memory_id": "0000000000000000"}}}), http.StatusNotFound)
	m.do(http.MethodGet, "/v1/memories/"+tea+"/", nil).into(http.StatusOK, nil) // the batch changed nothing
	m.do(http.MethodPost, "/v1/feedback/",
		object{"memory_id": miso, "feedback": "NEGATIVE", "feedback_reason": "the dog is"}).into(http.StatusOK, nil)
	var rated struct{ Feedback, Feedback_Reason string }
	if m.do(http.MethodGet, "/v1/memories/"+miso+"/", nil).into(http.StatusOK, &rated); rated.Feedback != "NEGATIVE" ||
		rated.Feedback_Reason != "the dog is" {
		t.Errorf("rated %+v", rated)
	}
	m.detail(m.do(http.MethodPost, "/v1/feedback/", object{"memory_id": miso, "feedback": "FINE"}),
		http.StatusBadRequest)

	var entities struct {
		Count   int
		Results []struct{ Type, Name string }
	}
	if m.do(http.MethodGet, "/v1/entities/?page_size=2", nil).into(http.StatusOK, &entities); entities.Count != 4 ||
		len(entities.Results) != 2 || entities.Results[0].Type != "app" || entities.Results[1].Name != "r1" {
		t.Errorf("entities %+v", entities)
	}
	m.do(http.MethodDelete, "/v2/entities/user/bob%2Fby%20the%20sea/", nil).into(http.StatusOK, nil)
	m.detail(m.do(http.MethodDelete, "/v2/entities/planet/x/", nil), http.StatusBadRequest)
	if m.do(http.MethodPost, "/v3/memories/", object{"filters": object{"user_id": "*"}}).
		into(http.StatusOK, &page); page.Count != 2 {
		t.Errorf("left %+v", page)
	}
	m.do(http.MethodDelete, "/v1/batch/", object{"memories": []object{{"memory_id": tea}, {"memory_id": miso}}}).
		into(http.StatusOK, nil)
	m.detail(m.do(http.MethodGet, "/v1/memories/"+tea+"/", nil), http.StatusNotFound)
	for _, path := range []string{"/v2/entities/user/ada/profile/", "/v2/profiles/settings/",
		"/v1/summary/",
		"/api/v1/webhooks/projects/p/", "/api/v1/orgs/organizations/o/projects/p/members/",
		"/api/v1/orgs/organizations/o/projects/"} {
		m.detail(m.do(http.MethodGet, path, nil), http.StatusNotImplemented)
	}
	m.detail(m.do(http.MethodPost, "/v1/exports/", object{}), http.StatusNotImplemented)
	m.detail(m.do(http.MethodGet, "/v9/memories/", nil), http.StatusNotFound)
}

// Keys that mem0's clients create are keys of Cairn.
func TestMem0ServersKeysAreCairns(t *testing.T) {
	t.Parallel()
	b := idle(t)
	m := mem0{b, "/mem0", map[string]string{"Authorization": "", "X-API-Key": b.key}}
	type key struct{ ID, Key, Label, Key_Prefix string }
	var made key
	var all []key
	m.do(http.MethodPost, "/api-keys", object{"label": "the shop"}).into(http.StatusCreated, &made)
	if m.do(http.MethodGet, "/api-keys", nil).into(http.StatusOK, &all); len(all) != 2 || all[0].ID != made.ID ||
		all[0].Label != "the shop" || all[0].Key != "" || !strings.HasPrefix(made.Key, all[0].Key_Prefix) {
		t.Errorf("%+v of %+v", all, made)
	}
	shop := mem0{b, "/mem0", map[string]string{"Authorization": "Token " + made.Key}}
	shop.kept("ada", "Likes figs.", nil)
	shop.detail(shop.do(http.MethodPost, "/api-keys", object{"label": "another"}), http.StatusForbidden)
	shop.detail(shop.do(http.MethodDelete, "/v1/memories/?user_id=ada", nil), http.StatusForbidden)
	var me struct{ Name, Role string }
	if shop.do(http.MethodGet, "/auth/me", nil).into(http.StatusOK, &me); me.Role != "member" ||
		me.Name != b.Workspace.Name {
		t.Errorf("%+v", me)
	}
	m.do(http.MethodDelete, "/api-keys/"+made.ID, nil).into(http.StatusOK, nil)
	m.detail(m.do(http.MethodDelete, "/api-keys/"+made.ID, nil), http.StatusNotFound)
	m.detail(m.do(http.MethodDelete, "/api-keys/x", nil), http.StatusNotFound)
	m.detail(m.do(http.MethodPost, "/api-keys", object{"label": ""}), http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/api-keys", object{"label": "x", "scopes": []access.Scope{"root"}}),
		http.StatusBadRequest)
	anonymous := mem0{b, "/mem0", map[string]string{"Authorization": ""}}
	anonymous.do(http.MethodGet, "/auth/setup-status", nil).into(http.StatusOK, nil)
	anonymous.detail(anonymous.do(http.MethodPost, "/auth/login", object{}), http.StatusNotImplemented)
	anonymous.detail(anonymous.do(http.MethodGet, "/auth/me", nil), http.StatusUnauthorized)
}
