package mem0api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// list decodes an answer that is a bare list.
func (r response) list() (out results) {
	r.t.Helper()
	r.into(&out.Results)
	return out
}

// project returns the path of the project, as clients build it from the answer to their ping.
func (c client) project() string {
	c.b.t.Helper()
	var ping struct {
		Org     string `json:"org_id"`
		Project string `json:"project_id"`
		Email   string `json:"user_email"`
	}
	c.do(http.MethodGet, "/v1/ping/", nil).into(&ping)
	if ping.Org == "" || ping.Project == "" || ping.Email == "" {
		c.b.t.Fatalf("ping %+v", ping)
	}
	return "/api/v1/orgs/organizations/" + ping.Org + "/projects/" + ping.Project + "/"
}

// Each version of mem0's clients lists and searches over its own routes, with the same result.
func TestEachVersionOfAClientListsAndSearches(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.adds("The cat is called Miso.", object{"user_id": "ada"})
	c.adds("Drinks green tea in the morning.", object{"user_id": "ada"})
	filters := object{"filters": object{"user_id": "ada"}}
	const both, miso = "The cat is called Miso.|Drinks green tea in the morning.", "The cat is called Miso."
	for _, path := range []string{"/v3/memories/", "/v2/memories/"} {
		var page results
		if c.do(http.MethodPost, path, filters).into(&page); page.texts() != both || page.Count != 2 {
			t.Errorf("%s: %+v", path, page)
		}
		c.do(http.MethodPost, path+"?page=2&page_size=1", filters).into(&page)
		if page.texts() != "Drinks green tea in the morning." || page.Count != 2 || page.Previous == nil {
			t.Errorf("%s: second page %+v", path, page)
		}
	}
	if got := c.do(http.MethodGet, "/v1/memories/?user_id=ada", nil).list(); got.texts() != both {
		t.Errorf("version 1: %+v", got)
	}
	if got := c.do(http.MethodGet, "/v1/memories/?user_id=ada&page=2&page_size=1", nil).list(); len(got.Results) != 1 {
		t.Errorf("version 1, second page: %+v", got)
	}
	query := object{"query": "What is the cat called?", "user_id": "ada", "top_k": 1}
	for _, path := range []string{"/v3/memories/search/", "/v2/memories/search/"} {
		var found results
		if c.do(http.MethodPost, path, query).into(&found); found.texts() != miso {
			t.Errorf("%s: %+v", path, found)
		}
	}
	if got := c.do(http.MethodPost, "/v1/memories/search/", query).list(); got.texts() != miso {
		t.Errorf("version 1: %+v", got)
	}
	for _, r := range []response{c.do(http.MethodGet, "/v1/memories/?user_id=bob", nil),
		c.do(http.MethodPost, "/v1/memories/search/", object{"query": "cat", "user_id": "bob"})} {
		if strings.TrimSpace(string(r.body)) != "[]" {
			t.Errorf("nothing is %s", r.body)
		}
	}
}

// The clients 1.x and 0.1.x add over a route of their own. The answer of an add that continues is in its results.
func TestFormerClientsAdd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	add := func(body object) (out struct {
		Status  string
		Event   string `json:"event_id"`
		Results []struct {
			Event, Memory, Status string
			ID                    string `json:"event_id"`
		}
	}) {
		t.Helper()
		c.do(http.MethodPost, "/v1/memories/", body).into(&out)
		return out
	}
	messages := []object{{"role": "user", "content": "I moved to Bergen."}}
	later := add(object{"messages": messages, "user_id": "ada", "async_mode": true, "output_format": "v1.1"})
	if len(later.Results) != 1 || later.Results[0].Status != "PENDING" || later.Results[0].ID != later.Event {
		t.Errorf("later: %+v", later)
	}
	b.agent = b.remembers("bob", "Lives in Bergen.")
	done := add(object{"messages": messages, "user_id": "bob", "version": "v2", "output_format": "v1.1"})
	if len(done.Results) != 1 || done.Results[0].Memory != "Lives in Bergen." || done.Results[0].Event != "ADD" {
		t.Errorf("done: %+v", done)
	}
	for _, sent := range []any{"Plays chess.", messages[0], []object{{"role": "user", "content": "Sails."}}} {
		raw := add(object{"messages": sent, "filters": object{"user_id": "eve"}, "infer": false})
		if len(raw.Results) != 1 || raw.Results[0].Event != "ADD" {
			t.Errorf("%v: %+v", sent, raw)
		}
	}
	nested := object{"AND": []object{{"agent_id": "cook"}, {"run_id": "r1"}}}
	add(object{"messages": "Peel them first.", "filters": nested, "infer": false})
	if got := c.lists("user_id=eve") + c.lists("agent_id=cook&run_id=r1"); got !=
		"Plays chess.|I moved to Bergen.|Sails.Peel them first." {
		t.Errorf("listed %s", got)
	}
	for what, filters := range map[string]any{"a list": []string{"ada"}, "a number": object{"user_id": 7},
		"another key": object{"user_id": "ada", "metadata": object{}}, "nothing": object{},
		"alternatives": object{"OR": []object{{"user_id": "ada"}, {"user_id": "bob"}}}} {
		t.Run(what, func(t *testing.T) {
			c.do(http.MethodPost, "/v3/memories/add/", object{"messages": "x", "filters": filters}).
				refused(http.StatusBadRequest)
		})
	}
}

// Clients send the filters of a deletion as a parameter of the URL: httpx writes a dict of Python as it is.
func TestADeletionTakesFiltersAsAPythonLiteral(t *testing.T) {
	t.Parallel()
	for filters, left := range map[string]string{
		`{'user_id': 'ada'}`: "Bob sails.",
		`{"user_id": "ada"}`: "Bob sails.",
		`{'AND': [{'user_id': 'ada'}, {'run_id': "o'hara \"1\""}]}`:   "Plays chess.|Bob sails.",
		`{'AND': ({'user_id': 'ada'}, {'run_id': '\x6f\'hara "1"'})}`: "Plays chess.|Bob sails.",
		`{'user_id': 'ada', 'metadata': {'n': 3.5, 'b': True}}`:       "Plays chess.|Bob sails.",
		`{'user_id': 'ada', 'metadata': {'n': 3.5, 'b': False}}`:      "Likes tea.|Plays chess.|Bob sails.",
		`{'user_id': {'in': ['ada', 'bob'],},}`:                       "",
	} {
		c := setup(t).client()
		c.adds("Likes tea.", object{"user_id": "ada", "run_id": `o'hara "1"`, "metadata": object{"n": 3.5, "b": true}})
		c.adds("Plays chess.", object{"user_id": "ada"})
		c.adds("Bob sails.", object{"user_id": "bob"})
		c.do(http.MethodDelete, "/v1/memories/?filters="+url.QueryEscape(filters), nil).into(&struct{}{})
		if got := c.lists("user_id=*"); got != left {
			t.Errorf("%s: left %s, want %s", filters, got, left)
		}
	}
}

func TestADeletionThatIsNotUnderstoodDeletesNothing(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.adds("Likes tea.", object{"user_id": "ada"})
	for _, query := range []string{"", "filters=%7B%7D", "filters=" + url.QueryEscape(`{'metadata': {'a': 1}}`),
		"filters=" + url.QueryEscape(`{'user_id': 'ada'`), "filters=" + url.QueryEscape(`{'user_id': ada}`),
		"filters=" + url.QueryEscape(`['ada']`), "filters=" + url.QueryEscape(`{'user_id': 'ada'} or 1`),
		"filters=" + url.QueryEscape(strings.Repeat("[", 100)), "filters=" + url.QueryEscape(`{'user_id': '\q'}`),
		"filters=" + url.QueryEscape(`{'user_id': 'ada', 'kind': 'x'}`), "user_id=ada&before=2020-01-01"} {
		c.do(http.MethodDelete, "/v1/memories/?"+query, nil).refused(http.StatusBadRequest)
	}
	if got := c.lists("user_id=ada"); got != "Likes tea." {
		t.Errorf("left %s", got)
	}
}

func TestTheProjectIsTheWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	path := c.project()
	if again := c.project(); again != path {
		t.Errorf("%s, then %s", path, again)
	}
	type project struct {
		Name         string
		Instructions *string             `json:"custom_instructions"`
		Agents       *string             `json:"agent_custom_instructions"`
		Categories   []map[string]string `json:"custom_categories"`
	}
	var first, changed, read project
	if c.do(http.MethodGet, path, nil).into(&first); first.Name != "a" || first.Instructions != nil ||
		len(first.Categories) != 0 {
		t.Errorf("at first %+v", first)
	}
	change := object{"name": "Shop", "custom_instructions": "Only places.", "agent_custom_instructions": "Only steps.",
		"custom_categories": []any{object{"pets": "cats and dogs"}, "work"}}
	c.do(http.MethodPatch, path, change).into(&changed)
	c.do(http.MethodGet, path, nil).into(&read)
	for _, p := range []project{changed, read} {
		if p.Name != "Shop" || p.Instructions == nil || *p.Instructions != "Only places." ||
			*p.Agents != "Only steps." ||
			len(p.Categories) != 2 ||
			p.Categories[0]["pets"] != "cats and dogs" {
			t.Errorf("%+v", p)
		}
	}
	var fields map[string]any
	for _, query := range []string{"?fields=name&fields=custom_instructions", "?fields=name,custom_instructions"} {
		fields = nil
		if c.do(http.MethodGet, path+query, nil).into(&fields); len(fields) != 2 || fields["name"] != "Shop" {
			t.Errorf("%s: %+v", query, fields)
		}
	}
	c.do(http.MethodPost, "/v3/memories/add/", object{"user_id": "ada", "messages": "I moved."}).into(&results{})
	c.do(http.MethodPost, "/v3/memories/add/", object{"agent_id": "cook", "messages": "Peel it."}).into(&results{})
	const guided = `select count(*) from runs where spec->'pinned'->'choices'->>'guidance' like $1
		and spec->'pinned'->'choices'->'categories'->0->>'name' = 'pets'`
	for _, text := range []string{"Only places.%- pets: cats and dogs%", "Only steps.%- pets: cats and dogs%"} {
		if n := b.Number(guided, text); n != 1 {
			t.Errorf("%d runs are told %q", n, text)
		}
	}
	c.do(http.MethodPatch, path, `{"custom_instructions":null,"custom_categories":null}`).into(&read)
	if read.Instructions != nil || len(read.Categories) != 0 || read.Name != "Shop" {
		t.Errorf("reset %+v", read)
	}
	for what, body := range map[string]any{"nothing": object{}, "a number": object{"custom_instructions": 7},
		"a long text": object{"custom_instructions": strings.Repeat("x", 4001)},
		"no list":     object{"custom_categories": "pets"}, "a nested one": object{"custom_categories": []any{[]any{}}},
		"twice the same":  object{"custom_categories": []string{"pets", "pets"}},
		"unknown members": object{"multilingual": true}} {
		if p := c.do(http.MethodPatch, path, body).refused(http.StatusBadRequest); p.Code != "invalid_argument" {
			t.Errorf("%s: %+v", what, p)
		}
	}
	c.do(http.MethodGet, "/api/v1/orgs/organizations/cairn/projects/another/", nil).refused(http.StatusNotFound)
}

func TestMemoriesGetTheCategoriesThatFitThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.client()
	c.do(http.MethodPatch, c.project(), object{"custom_categories": []object{
		{"pets": "cats, dogs and other animals at home"}, {"food": "meals, drinks and tastes"}}}).into(&struct{}{})
	of := func(id string) string {
		t.Helper()
		var out struct{ Categories []string }
		c.do(http.MethodGet, "/v1/memories/"+id+"/", nil).into(&out)
		return strings.Join(out.Categories, ",")
	}
	for text, want := range map[string]string{"The cat is called Miso.": "pets", "Drinks green tea.": "food",
		"Lives in Bergen.": "", "Two dogs steal her meals.": "food,pets"} {
		id := c.adds(text, object{"user_id": "ada"})
		if got := of(id); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	own := c.adds("A Volvo with winter wheels.", object{"user_id": "ada",
		"custom_categories": []object{{"cars": "engines and wheels"}}})
	if got := of(own); got != "cars" {
		t.Errorf("of the request: %s", got)
	}
	if r := c.do(http.MethodPost, "/v3/memories/", object{"filters": object{"user_id": "ada"},
		"categories": []string{"cars", "food"}}); c.names(r) != "A Drinks Two" {
		t.Errorf("listed %s", r.body)
	}
}

// updated is an answer whose option took effect.
func (c client) field(id, name string) any {
	c.b.t.Helper()
	var out map[string]any
	testkit.Must(c.b.t, json.Unmarshal(c.do(http.MethodGet, "/v1/memories/"+id+"/", nil).body, &out))
	return out[name]
}
