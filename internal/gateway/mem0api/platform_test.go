package mem0api_test

import (
	"net/http"
	"testing"
)

func TestABatchIsDoneWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	one, two := c.adds("one", object{"user_id": "ada"}), c.adds("two", object{"user_id": "ada"})
	batch := func(items ...object) object { return object{"memories": items} }
	var out struct{ Message string }
	for range 2 {
		c.do(http.MethodPut, "/v1/batch/", batch(object{"memory_id": one, "text": "uno"},
			object{"memory_id": two, "text": "due"})).into(&out)
		if got := c.lists("user_id=ada"); got != "uno|due" || out.Message != "Successfully updated 2 memories" {
			t.Errorf("%s: listed %s", out.Message, got)
		}
	}
	missing := object{"memory_id": "0000000000000000", "text": "x"}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		c.do(method, "/v1/batch/", batch(object{"memory_id": one, "text": "ein"}, missing)).refused(http.StatusNotFound)
		c.do(method, "/v1/batch/", batch()).refused(http.StatusBadRequest)
		c.do(method, "/v1/batch/", batch(make([]object, 1001)...)).refused(http.StatusBadRequest)
		c.do(method, "/v1/batch/", "[").refused(http.StatusBadRequest)
	}
	if got := c.lists("user_id=ada"); got != "uno|due" {
		t.Errorf("listed %s", got)
	}
	c.do(http.MethodDelete, "/v1/batch/", batch(object{"memory_id": one}, object{"memory_id": two})).into(&out)
	if got := c.lists("user_id=ada"); got != "" || out.Message != "Successfully deleted 2 memories" {
		t.Errorf("%s: listed %s", out.Message, got)
	}
	c.do(http.MethodDelete, "/v1/batch/", batch(object{"memory_id": one})).refused(http.StatusNotFound)
}

func TestWhatSomebodyThinksOfAMemoryIsKeptWithIt(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	id := c.adds("one", object{"user_id": "ada", "metadata": object{"n": 1}})
	rate := func(feedback, reason any) {
		t.Helper()
		body := object{"memory_id": id, "feedback": feedback, "feedback_reason": reason}
		c.do(http.MethodPost, "/v1/feedback/", body).into(&struct{}{})
	}
	wants := func(feedback, reason string) {
		t.Helper()
		var got struct {
			entry
			Feedback string
			Reason   string `json:"feedback_reason"`
		}
		c.do(http.MethodGet, "/v1/memories/"+id+"/", nil).into(&got)
		if got.Feedback != feedback || got.Reason != reason || got.User != "ada" || got.Metadata["n"] != 1.0 {
			t.Errorf("%+v, want %q because %q", got, feedback, reason)
		}
	}
	for range 2 {
		rate("VERY_NEGATIVE", "it was a dog")
		wants("VERY_NEGATIVE", "it was a dog")
	}
	rate("POSITIVE", nil)
	wants("POSITIVE", "")
	c.do(http.MethodPost, "/v1/feedback/", object{"memory_id": id, "feedback": "FINE"}).refused(http.StatusBadRequest)
	missing := object{"memory_id": "0000000000000000", "feedback": "POSITIVE"}
	c.do(http.MethodPost, "/v1/feedback/", missing).refused(http.StatusNotFound)
	wants("POSITIVE", "")
	rate(nil, nil)
	wants("", "")
}

func TestEntitiesAreThoseWhomMemoriesAreFor(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.adds("one", object{"user_id": "ada", "run_id": "r1"})
	c.adds("two", object{"user_id": "ada"})
	c.adds("three", object{"agent_id": "by the sea/1"})
	type entity struct {
		ID, Name, Type string
		Total          int `json:"total_memories"`
	}
	var all []entity
	c.do(http.MethodGet, "/entities", nil).into(&all)
	if len(all) != 3 || all[0] != (entity{"by the sea/1", "by the sea/1", "agent", 1}) ||
		all[1] != (entity{"r1", "r1", "run", 1}) || all[2] != (entity{"ada", "ada", "user", 2}) {
		t.Errorf("%+v", all)
	}
	var page struct {
		Count   int
		Results []entity
	}
	c.do(http.MethodGet, "/v1/entities/?page_size=2&page=2", nil).into(&page)
	if page.Count != 3 || len(page.Results) != 1 || page.Results[0].Name != "ada" {
		t.Errorf("%+v", page)
	}
	for _, query := range []string{"page_size=0", "page_size=1001", "page=0", "page=x"} {
		c.do(http.MethodGet, "/v1/entities/?"+query, nil).refused(http.StatusBadRequest)
	}
	for range 2 { // deleting an unknown entity succeeds
		c.do(http.MethodDelete, "/v1/entities/agent/by%20the%20sea%2F1/", nil).into(&struct{}{})
		c.do(http.MethodDelete, "/entities/run/r1", nil).into(&struct{}{})
	}
	if got := c.lists("user_id=*") + c.lists("agent_id=*"); got != "two" {
		t.Errorf("left %s", got)
	}
	c.do(http.MethodDelete, "/v2/entities/planet/mars/", nil).refused(http.StatusBadRequest)
}

func TestTheServerTellsWhatItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var configuration struct {
		LLM      struct{ Config struct{ Model string } }
		Embedder struct {
			Config struct {
				Model string
				Dims  int `json:"embedding_dims"`
			}
		}
	}
	b.client().do(http.MethodGet, "/configure", nil).into(&configuration)
	if configuration.LLM.Config.Model != "scripted" || configuration.Embedder.Config.Dims == 0 ||
		configuration.Embedder.Config.Model == "" {
		t.Errorf("%+v", configuration)
	}
	var providers struct{ LLM []string }
	if b.client().do(http.MethodGet, "/configure/providers", nil).into(&providers); len(providers.LLM) != 1 {
		t.Errorf("%+v", providers)
	}
	b.client().do(http.MethodPost, "/configure", object{}).refused(http.StatusForbidden)
	var me struct{ ID, Name, Role string }
	b.client().do(http.MethodGet, "/auth/me", nil).into(&me)
	if me.ID != b.A.Key || me.Name != "a" || me.Role != "admin" {
		t.Errorf("%+v", me)
	}
	b.as(b.makeKey(b.B, "read")).do(http.MethodGet, "/auth/me", nil).into(&me)
	if me.Name != "b" || me.Role != "member" {
		t.Errorf("%+v", me)
	}
}
