package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// mem0 speaks as mem0's clients do.
type mem0 struct {
	*bundle
	mount string
	auth  map[string]string
}

func (m mem0) do(method, path string, body any) response {
	m.T.Helper()
	return m.bundle.do(request{method: method, path: m.mount + path, body: body, header: m.auth})
}

type mem0Memory struct {
	ID, Memory, Hash string
	UserID           string  `json:"user_id"`
	AgentID          string  `json:"agent_id"`
	RunID            string  `json:"run_id"`
	Score            float64 `json:"score"`
	Details          struct {
		Semantic *float64 `json:"semantic_score"`
		Final    float64  `json:"final_score"`
	} `json:"score_details"`
	Metadata map[string]any
	Event    string
	Expires  string `json:"expiration_date"`
}

type mem0Results struct {
	Results []mem0Memory
	Status  string
	EventID string `json:"event_id"`
	Add     string
}

func (m mem0) kept(user, text string, more object) string {
	m.T.Helper()
	body := object{"messages": []object{{"role": "user", "content": text}}, "user_id": user, "infer": false}
	for k, v := range more {
		body[k] = v
	}
	var out mem0Results
	m.do(http.MethodPost, "/memories", body).into(http.StatusOK, &out)
	if len(out.Results) != 1 || out.Results[0].Event != "ADD" || out.Results[0].Memory != text {
		m.T.Fatalf("added %+v", out)
	}
	return out.Results[0].ID
}

// Each route of the self-hosted server, as its clients call it.
func TestMem0ClientsKeepAndFindMemories(t *testing.T) {
	t.Parallel()
	b := idle(t)
	m := mem0{b, "/mem0", map[string]string{"Authorization": "", "X-API-Key": b.key}}
	miso := m.kept("ada", "The cat is called Miso.",
		object{"metadata": object{"topic": "pets", "age": 3}, "run_id": "r1"})
	tea := m.kept("ada", "Drinks green tea in the morning.", object{"agent_id": "cook"})
	bob := m.kept("bob", "The cat is called Miso.", nil)
	old := m.kept("ada", "Has a ticket for the opera.", object{"expiration_date": "2020-01-01"})
	var found, all mem0Results
	m.do(http.MethodPost, "/search", object{"query": "What is the cat called?", "filters": object{"user_id": "ada"}}).
		into(http.StatusOK, &found)
	if len(found.Results) == 0 || found.Results[0].ID != miso || found.Results[0].UserID != "ada" ||
		found.Results[0].RunID != "r1" || found.Results[0].Score <= 0 || found.Results[0].Metadata["topic"] != "pets" ||
		found.Results[0].Hash == "" {
		t.Errorf("searched %+v", found)
	}
	var told mem0Results
	if m.do(http.MethodPost, "/search", object{"query": "What is the cat called?", "filters": object{"user_id": "ada"},
		"explain": true}).into(http.StatusOK, &told); told.Results[0].Details.Semantic == nil ||
		told.Results[0].Details.Final != found.Results[0].Score || found.Results[0].Details.Semantic != nil {
		t.Errorf("explained %+v, and plain %+v", told.Results[0], found.Results[0])
	}
	for _, r := range found.Results {
		if r.ID == bob || r.ID == old || r.Metadata["mem0"] != nil {
			t.Errorf("found %+v", r)
		}
	}
	m.do(http.MethodPost, "/search", object{"query": "cat", "user_id": "ada",
		"filters": object{"AND": []object{{"topic": object{"in": []string{"pets"}}}, {"age": object{"gte": 3}},
			{"NOT": []object{{"run_id": "r2"}}}}}}).into(http.StatusOK, &found)
	if len(found.Results) != 1 || found.Results[0].ID != miso {
		t.Errorf("filtered %+v", found)
	}
	if m.do(http.MethodGet, "/memories?user_id=ada", nil).into(http.StatusOK, &all); len(all.Results) != 2 ||
		all.Results[0].ID != miso || all.Results[1].AgentID != "cook" {
		t.Errorf("listed %+v", all)
	}
	if m.do(http.MethodGet, "/memories?user_id=ada&show_expired=true&top_k=1", nil).
		into(http.StatusOK, &all); len(all.Results) != 1 {
		t.Errorf("listed one: %+v", all)
	}
	if m.do(http.MethodGet, "/memories?agent_id=cook", nil).into(http.StatusOK, &all); len(all.Results) != 1 ||
		all.Results[0].ID != tea {
		t.Errorf("of the agent %+v", all)
	}
	var one mem0Memory
	m.do(http.MethodPut, "/memories/"+miso,
		object{"text": "The cat is called Nori.", "metadata": object{"topic": "cats"}}).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/memories/"+miso, nil).
		into(http.StatusOK, &one); one.Memory != "The cat is called Nori." || one.Metadata["topic"] != "cats" ||
		one.Metadata["age"] != 3.0 ||
		one.UserID != "ada" {
		t.Errorf("updated %+v", one)
	}
	var history []struct {
		Event string
		Old   *string `json:"old_memory"`
		New   *string `json:"new_memory"`
	}
	m.do(http.MethodDelete, "/memories/"+miso, nil).into(http.StatusOK, nil)
	m.do(http.MethodGet, "/memories/"+miso+"/history", nil).into(http.StatusOK, &history)
	if len(history) != 3 || history[0].Event != "ADD" || history[1].Event != "UPDATE" ||
		*history[1].Old != "The cat is called Miso." || history[2].Event != "DELETE" || history[2].New != nil {
		t.Errorf("history %+v", history)
	}
	m.detail(m.do(http.MethodGet, "/memories/"+miso, nil), http.StatusNotFound)
	m.do(http.MethodDelete, "/memories?user_id=ada", nil).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/memories?user_id=*&show_expired=true", nil).
		into(http.StatusOK, &all); len(all.Results) != 1 || all.Results[0].ID != bob {
		t.Errorf("left %+v", all)
	}
	var entities []struct {
		ID, Type string
		Total    int `json:"total_memories"`
	}
	if m.do(http.MethodGet, "/entities", nil).into(http.StatusOK, &entities); len(entities) != 1 ||
		entities[0].ID != "bob" || entities[0].Type != "user" || entities[0].Total != 1 {
		t.Errorf("entities %+v", entities)
	}
	m.do(http.MethodPost, "/reset", nil).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/memories?user_id=bob", nil).into(http.StatusOK, &all); len(all.Results) != 0 {
		t.Errorf("after a reset %+v", all)
	}
	m.do(http.MethodGet, "/configure", nil).into(http.StatusOK, nil)
	m.do(http.MethodGet, "/configure/providers", nil).into(http.StatusOK, nil)
	m.detail(m.do(http.MethodPost, "/configure", object{}), http.StatusForbidden)
}

// detail checks that a failure has the form that mem0's clients read.
func (m mem0) detail(r response, status int) {
	m.T.Helper()
	var out struct{ Detail string }
	if r.into(status, &out); out.Detail == "" {
		m.T.Errorf("no detail in %s", r.body)
	}
}

func TestMem0ClientsAreToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := idle(t)
	m := mem0{b, "/mem0", map[string]string{"Authorization": "Token " + b.key}}
	m.detail(m.do(http.MethodPost, "/memories", object{"messages": "x"}), http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/memories", object{"user_id": "ada", "messages": []object{}}),
		http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/memories", object{"user_id": "ada", "messages": "x", "expiration_date": "soon"}),
		http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/memories", `{"user_id":`), http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/search", object{"query": "x"}), http.StatusBadRequest)
	m.detail(m.do(http.MethodPost, "/search",
		object{"query": "x", "filters": object{"user_id": "ada", "n": object{"near": 3}}}), http.StatusBadRequest)
	m.detail(m.do(http.MethodDelete, "/memories", nil), http.StatusBadRequest)
	m.detail(m.do(http.MethodGet, "/memories/0000000000000000", nil), http.StatusNotFound)
	m.auth = map[string]string{"Authorization": "Token m0-nothing"}
	m.detail(m.do(http.MethodGet, "/v1/ping/", nil), http.StatusUnauthorized)
	m.auth = map[string]string{"Authorization": "Token " + b.makeKey(b.Workspace, access.Write)}
	m.detail(m.do(http.MethodPost, "/reset", nil), http.StatusForbidden)
	if r := b.get("/memories?user_id=ada"); r.status != http.StatusNotFound { // the root must be enabled
		t.Errorf("at the root: %d", r.status)
	}
}

// The summary workflow infers memories. The platform's routes are at
// the root if MEM0_COMPAT is root.
func TestMem0ClientsHaveMemoriesInferred(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.Mem0Compat, c.RateLimit = "root", 0 })
	b.Within(func(ctx context.Context, q store.Tx) error {
		s, err := q.Workspaces().Settings(ctx)
		s.Memory.Add = settings.AddAgents
		return errors.Join(err, q.Workspaces().SetSettings(ctx, s))
	})
	b.Start()
	none := 0
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: &none,
		Calls: calls("hands_off", object{"memory_tasks": []object{{"memory_type": "personal", "memory_target": "alice"},
			{"memory_type": "personal", "memory_target": "bob"}}})})
	b.scriptAlice()
	m := mem0{b, "", map[string]string{"Authorization": "Token " + b.key}}
	m.kept("bob", "Bob sails.", nil)
	m.do(http.MethodGet, "/v1/ping/", nil).into(http.StatusOK, nil)
	var made, later, event, all mem0Results
	m.do(http.MethodPost, "/memories", object{"messages": flying, "user_id": "alice", "metadata": object{"trip": "x"},
		"run_id": "r1", "prompt": "Only what is about airports."}).into(http.StatusOK, &made)
	for _, asked := range b.Model.Requests() {
		if !strings.Contains(asked.Messages[0].Content, "asks for this; follow it as far as the rest of these "+
			"instructions lets you:\n\nOnly what is about airports.\n") {
			t.Errorf("%s is not told what the add asks for: %s", asked.Stage, asked.Messages[0].Content)
		}
	}
	m.detail(m.do(http.MethodPost, "/memories",
		object{"messages": flying, "user_id": "alice", "prompt": strings.Repeat("x", 4001)}),
		http.StatusRequestEntityTooLarge)
	if len(made.Results) != 1 || made.Results[0].Event != "ADD" ||
		made.Results[0].Memory != "Alice flies from Osaka only." {
		t.Fatalf("added %+v", made)
	}
	// Messages of one user are not visible to agents of other users.
	for _, asked := range b.Model.Requests() {
		if system := string(asked.Body); asked.Stage == "summarize" &&
			(strings.Contains(system, "personal(bob)") || !strings.Contains(system, "personal(alice)")) {
			t.Errorf("the agent is shown others:\n%s", system)
		}
	}
	if n := b.Model.Count("specialist"); n != 2 { // one adds, and ends
		t.Errorf("%d responses of specialists", n)
	}
	m.do(http.MethodPost, "/v3/memories/",
		object{"filters": object{"AND": []object{{"user_id": "alice"}, {"run_id": "r1"}}}}).into(http.StatusOK, &all)
	if len(all.Results) != 1 || all.Results[0].Metadata["trip"] != "x" || all.Results[0].ID != made.Results[0].ID {
		t.Errorf("listed %+v", all)
	}
	// Memories of an asynchronous add have all fields of the request.
	m.do(http.MethodDelete, "/v1/memories/"+made.Results[0].ID+"/", nil).into(http.StatusOK, nil)
	m.do(http.MethodPost, "/v3/memories/add/",
		object{"messages": flying, "user_id": "alice", "metadata": object{"trip": "y"}, "run_id": "r2",
			"expiration_date": "2999-01-01"}).into(http.StatusOK, &later)
	if later.EventID == "" || later.Status != "PENDING" && later.Status != "RUNNING" && later.Status != "SUCCEEDED" {
		t.Fatalf("added later %+v", later)
	}
	for event.Status != "SUCCEEDED" && event.Status != "FAILED" {
		time.Sleep(25 * time.Millisecond)
		m.do(http.MethodGet, "/v1/event/"+later.EventID+"/", nil).into(http.StatusOK, &event)
	}
	if len(event.Results) != 1 || event.Results[0].Event != "ADD" ||
		event.Results[0].Memory != "Alice flies from Osaka only." {
		t.Fatalf("event %+v", event)
	}
	var one mem0Memory
	if m.do(http.MethodGet, "/v1/memories/"+event.Results[0].ID+"/", nil).
		into(http.StatusOK, &one); one.Metadata["trip"] != "y" || one.UserID != "alice" || one.RunID != "r2" ||
		one.Metadata["mem0"] != nil || one.Expires != "2999-01-01" {
		t.Errorf("added later %+v", one)
	}
	last := b.Model.Requests()
	if system := last[len(last)-1].Messages[0].Content; strings.Contains(system, "asks for this") {
		t.Errorf("an add that asks for nothing: %s", system)
	}
	made.Results[0].ID = event.Results[0].ID
	var events struct {
		Count   int
		Results []struct{ ID, Status string }
	}
	if m.do(http.MethodGet, "/v1/events/?page_size=1", nil).into(http.StatusOK, &events); events.Count != 2 ||
		len(events.Results) != 1 || events.Results[0].ID != later.EventID {
		t.Errorf("events %+v", events)
	}
	var requests []struct {
		Path   string
		Status int `json:"status_code"`
	}
	if m.do(http.MethodGet, "/requests?limit=1", nil).into(http.StatusOK, &requests); len(requests) != 1 ||
		requests[0].Path != "/memories" || requests[0].Status != http.StatusOK {
		t.Errorf("requests %+v", requests)
	}
	m.do(http.MethodPost, "/v3/memories/search/",
		object{"query": "Where does Alice fly from?", "filters": object{"user_id": "alice"}}).into(http.StatusOK, &all)
	if len(all.Results) != 1 {
		t.Errorf("searched %+v", all)
	}
	id := made.Results[0].ID
	m.do(http.MethodPut, "/v1/memories/"+id+"/", object{"text": "Alice flies from Kyoto."}).into(http.StatusOK, nil)
	if m.do(http.MethodGet, "/v1/memories/"+id+"/", nil).
		into(http.StatusOK, &one); one.Memory != "Alice flies from Kyoto." {
		t.Errorf("%+v", one)
	}
	m.do(http.MethodGet, "/v1/memories/"+id+"/history/", nil).into(http.StatusOK, nil)
	m.do(http.MethodDelete, "/v1/memories/"+id+"/", nil).into(http.StatusOK, nil)
	m.do(http.MethodDelete, "/v1/memories/?user_id=alice", nil).into(http.StatusOK, nil)
	m.do(http.MethodGet, "/v1/entities/", nil).into(http.StatusOK, nil)
}

// Without a model, rules infer memories from plain statements, for the user of the
// request only.
func TestMem0ClientsHaveMemoriesInferredWithoutAModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.BaseURL, c.APIKey, c.Model, c.RateLimit = "", "", "", 0 })
	b.Start()
	m := mem0{b, "/mem0", map[string]string{"X-API-Key": b.key}}
	bob := m.kept("bob", "Bob sails.", nil)
	said := []object{{"role": "user", "content": "Hi! My name is Vera and I live in Porto. I like green tea. Can " +
		"you tell me what time it is?"}, {"role": "assistant", "content": "I love green tea, too. It is noon."}}
	var made, again, all, found mem0Results
	m.do(http.MethodPost, "/memories", object{"messages": said, "user_id": "u-17", "run_id": "r1"}).
		into(http.StatusOK, &made)
	var texts []string
	for _, r := range made.Results {
		if texts = append(texts, r.Memory); r.Event != "ADD" {
			t.Errorf("made %+v", r)
		}
	}
	if made.Add != settings.AddFast {
		t.Errorf("added by %q", made.Add)
	}
	if !slices.Equal(texts, []string{"My name is Vera and I live in Porto.", "I like green tea."}) {
		t.Fatalf("inferred %q", texts)
	}
	if m.do(http.MethodGet, "/memories?user_id=u-17", nil).into(http.StatusOK, &all); len(all.Results) != 2 ||
		all.Results[0].RunID != "r1" {
		t.Errorf("listed %+v", all)
	}
	if m.do(http.MethodPost, "/search", object{"query": "Where does Vera live?", "filters": object{"user_id": "u-17"}}).
		into(http.StatusOK, &found); len(found.Results) == 0 || !strings.Contains(found.Results[0].Memory, "Porto") {
		t.Errorf("found %+v", found)
	}
	if m.do(http.MethodGet, "/memories?user_id=bob", nil).into(http.StatusOK, &found); len(found.Results) != 1 ||
		found.Results[0].ID != bob {
		t.Errorf("of another user %+v", found)
	}
	m.do(http.MethodPost, "/memories", object{"messages": "I like green tea.", "user_id": "u-17"}).
		into(http.StatusOK, &again)
	if m.do(http.MethodGet, "/memories?user_id=u-17", nil).into(http.StatusOK, &all); len(again.Results) != 0 ||
		len(all.Results) != 2 {
		t.Errorf("said again: %+v, listed %+v", again, all)
	}
	m.do(http.MethodPost, "/memories", object{"messages": "What is the weather like?", "user_id": "u-17"}).
		into(http.StatusOK, &again)
	if len(again.Results) != 0 {
		t.Errorf("of a question it inferred %+v", again)
	}
}
