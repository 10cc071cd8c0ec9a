package mem0api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// pets adds memories to select from. The first word of each identifies it.
func (c client) pets() {
	c.b.t.Helper()
	for _, p := range []struct {
		text string
		more object
	}{
		{"Miso is a cat", object{"user_id": "ada", "metadata": object{"kind": "cat", "age": 3, "indoor": true}}},
		{"Rex is a dog", object{"user_id": "ada", "run_id": "r1", "metadata": object{"kind": "dog", "age": 11}}},
		{"Nori is a fish", object{"user_id": "bob", "app_id": "shop", "metadata": object{"kind": "Fish"}}},
		{"Feeding happens at noon", object{"agent_id": "keeper", "user_id": "", "metadata": object{"age": 5}}},
	} {
		c.adds(p.text, p.more)
	}
}

// chosen returns the first words of the memories that a filter of the self-hosted server selects.
func (c client) chosen(filter any) string {
	c.b.t.Helper()
	raw, err := json.Marshal(filter)
	testkit.Must(c.b.t, err)
	return c.names(c.do(http.MethodGet, "/memories?filters="+url.QueryEscape(string(raw)), nil))
}

// platform returns the first words of the memories that a filter of the platform selects.
func (c client) platform(filter any) string {
	c.b.t.Helper()
	return c.names(c.do(http.MethodPost, "/v3/memories/", object{"filters": filter}))
}

func (c client) names(r response) string {
	c.b.t.Helper()
	var out results
	r.into(&out)
	var names []string
	for _, e := range out.Results {
		name, _, _ := strings.Cut(e.Memory, " ")
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// every returns a filter that selects all users and agents and also requires more.
func every(more object) object {
	return object{"AND": []object{{"OR": []object{{"user_id": "*"}, {"agent_id": "*"}}}, more}}
}

func TestFiltersChooseWhatTheySay(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.pets()
	for _, f := range []struct {
		filter object
		want   string
	}{
		{object{"user_id": "ada"}, "Miso Rex"},
		{object{"user_id": "bob"}, "Nori"},
		{object{"user_id": "missing"}, ""},
		{object{"user_id": "*"}, "Miso Nori Rex"},
		{object{"agent_id": "keeper"}, "Feeding"},
		{object{"app_id": "shop"}, "Nori"},
		{object{"run_id": "*"}, "Rex"},
		{object{"user_id": object{"in": []string{"bob", "eve"}}}, "Nori"},
		{object{"user_id": object{"ne": "ada"}}, "Feeding Nori"},
		{object{"user_id": "ada", "kind": "dog"}, "Rex"},
		{every(object{"kind": "*"}), "Miso Nori Rex"},
		{every(object{"kind": object{"eq": "cat"}}), "Miso"},
		{every(object{"kind": object{"ne": "cat"}}), "Feeding Nori Rex"},
		{every(object{"kind": []string{"cat", "dog"}}), "Miso Rex"},
		{every(object{"kind": object{"in": []string{"cat", "dog"}}}), "Miso Rex"},
		{every(object{"kind": object{"nin": []string{"cat", "dog"}}}), "Feeding Nori"},
		{every(object{"kind": object{"contains": "is"}}), "Nori"},
		{every(object{"kind": object{"contains": "fish"}}), ""},
		{every(object{"kind": object{"icontains": "fish"}}), "Nori"},
		{every(object{"age": object{"gt": 3}}), "Feeding Rex"},
		{every(object{"age": object{"gte": 3}}), "Feeding Miso Rex"},
		{every(object{"age": object{"lt": 5}}), "Miso"},
		{every(object{"age": object{"gte": 3, "lte": 5}}), "Feeding Miso"},
		{every(object{"age": 11}), "Rex"},
		{every(object{"age": "11"}), ""},
		{every(object{"indoor": true}), "Miso"},
		{every(object{"indoor": object{"gt": 0}}), "Miso"},
		{every(object{"memory": object{"icontains": "IS A D"}}), "Rex"},
		{every(object{"created_at": object{"gte": "2000-01-01", "lt": "2900-01-01"}}), "Feeding Miso Nori Rex"},
		{every(object{"updated_at": object{"lt": "2000-01-01"}}), ""},
		{every(object{"OR": []object{{"kind": "cat"}, {"age": object{"gt": 10}}}}), "Miso Rex"},
		{every(object{"NOT": []object{{"kind": "cat"}, {"kind": "dog"}}}), "Feeding Nori"},
		{every(object{"NOT": object{"kind": "cat"}}), "Feeding Nori Rex"},
		{every(object{"AND": []object{{"kind": "dog"}, {"age": 3}}}), ""},
	} {
		if got := c.chosen(f.filter); got != f.want {
			t.Errorf("%v: %s, want %s", f.filter, got, f.want)
		}
	}
}

// The platform's filters, as its documentation and its clients write them.
func TestFiltersOfThePlatformChooseWhatTheySay(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.pets()
	tiger := c.adds("Tiger is a CAT of 100%", object{"user_id": "ada", "expiration_date": "2999-12-31",
		"metadata": object{"tags": []string{"red", "big"}, "nested": object{"a": 1}}, "timestamp": 1700000000,
		"custom_categories": []object{{"animals": "a cat, a dog or another pet"}, {"cars": "engines and wheels"}}})
	ids := []string{tiger, "0000000000000000"}
	for _, f := range []struct {
		filter object
		want   string
	}{
		{object{"user_id": "ada"}, "Miso Rex Tiger"},
		{object{"user_id": object{"eq": "ada"}}, "Miso Rex Tiger"},
		{object{"user_id": object{"ne": "ada"}}, "Feeding Nori"},
		{object{"user_id": object{"in": []string{"bob", "ada"}}}, "Miso Nori Rex Tiger"},
		{object{"user_id": []string{"bob"}}, "Nori"},
		{object{"agent_id": "keeper"}, "Feeding"},
		{object{"user_id": "ada", "run_id": "*"}, "Rex"},
		{every(object{"metadata": object{"kind": "cat"}}), "Miso"},
		{every(object{"metadata": object{"kind": object{"eq": "cat"}}}), "Miso"},
		{every(object{"metadata": object{"eq": object{"kind": "cat", "age": 3}}}), "Miso"},
		{every(object{"metadata": object{"ne": object{"kind": "cat"}}}), "Feeding Nori Rex Tiger"},
		{every(object{"metadata": object{"kind": object{"ne": "cat"}}}), "Feeding Nori Rex Tiger"},
		{every(object{"metadata": object{"contains": object{"kind": "is"}}}), "Nori"},
		{every(object{"metadata": object{"tags": object{"contains": "red"}}}), "Tiger"},
		{every(object{"metadata": object{"tags": object{"contains": "re"}}}), ""},
		{every(object{"metadata": object{"nested": object{"a": 1}}}), "Tiger"},
		{every(object{"metadata": object{"age": "*"}}), "Feeding Miso Rex"},
		{every(object{"metadata": "*"}), "Feeding Miso Nori Rex Tiger"},
		{every(object{"categories": object{"in": []string{"animals", "plants"}}}), "Tiger"},
		{every(object{"categories": object{"contains": "animals"}}), "Tiger"},
		{every(object{"categories": "cars"}), ""},
		{every(object{"categories": "*"}), "Tiger"},
		{every(object{"keywords": object{"contains": "CAT"}}), "Tiger"},
		{every(object{"keywords": object{"icontains": "cat"}}), "Miso Tiger"},
		{every(object{"keywords": object{"icontains": "100%"}}), "Tiger"},
		{every(object{"keywords": object{"icontains": "1_0"}}), ""},
		{every(object{"keywords_search": "a FISH"}), "Nori"},
		{every(object{"text": "Rex is a dog"}), "Rex"},
		{every(object{"text": object{"ne": "Rex is a dog"}}), "Feeding Miso Nori Tiger"},
		{every(object{"memory_ids": ids}), "Tiger"},
		{every(object{"memory_ids": object{"in": ids}}), "Tiger"},
		{every(object{"expiration_date": "*"}), "Tiger"},
		{every(object{"expiration_date": object{"gte": "2999-12-31"}}), "Tiger"},
		{every(object{"expiration_date": object{"lt": "2999-12-31"}}), ""},
		{every(object{"timestamp": "2023-11-14"}), "Tiger"},
		{every(object{"timestamp": object{"lte": "2023-11-14"}}), "Tiger"},
		{every(object{"timestamp": object{"gt": 1700000000}}), "Feeding Miso Nori Rex"},
		{every(object{"timestamp": object{"in": []any{1700000000, "2001-01-01"}}}), "Tiger"},
		{every(object{"timestamp": object{"ne": "2023-11-14T22:13:20Z"}}), "Feeding Miso Nori Rex"},
		{every(object{"created_at": object{"gt": "2023-11-14", "lte": "2900-01-01"}}), "Feeding Miso Nori Rex Tiger"},
		{every(object{"NOT": []object{{"metadata": object{"kind": "cat"}}, {"user_id": "bob"}}}), "Feeding Rex Tiger"},
		{object{"OR": []object{{"user_id": "bob"}, {"AND": []object{{"user_id": "ada"},
			{"NOT": object{"keywords": object{"contains": "dog"}}}}}}}, "Miso Nori Tiger"},
	} {
		if got := c.platform(f.filter); got != f.want {
			t.Errorf("%v: %s, want %s", f.filter, got, f.want)
		}
	}
}

// nested returns a filter with a number of levels.
func nested(levels int) any {
	var out any = object{"user_id": "ada"}
	for range levels {
		out = object{"AND": []any{out}}
	}
	return out
}

func TestFiltersAreBounded(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.pets()
	many := func(n int) any {
		list := []object{}
		for i := range n {
			list = append(list, object{"user_id": fmt.Sprint("user", i)})
		}
		return object{"OR": list}
	}
	for what, f := range map[string]struct{ good, bad any }{"levels": {nested(8), nested(9)},
		"conditions": {many(200), many(201)}} {
		c.platform(f.good)
		p := c.do(http.MethodPost, "/v3/memories/", object{"filters": f.bad}).refused(http.StatusBadRequest)
		if !strings.Contains(p.Detail, what) {
			t.Errorf("%s: %+v", what, p)
		}
	}
	p := c.do(http.MethodPost, "/v2/memories/search/", object{"query": "x",
		"filters": object{"user_id": "ada", "kind": "cat"}}).refused(http.StatusBadRequest)
	for _, key := range []string{"user_id", "keywords_search", "memory_ids", "expiration_date", "NOT"} {
		if !strings.Contains(p.Detail, key) {
			t.Errorf("%s is not in %q", key, p.Detail)
		}
	}
}

// A search reads the filter before it ranks, so that a rare match among many better ones is found.
func TestASearchFindsTheOnlyMatchOfAFilter(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	messages := []object{}
	for i := range 300 {
		messages = append(
			messages,
			object{"role": "user", "content": fmt.Sprintf("The cat number %d is called Miso.", i)},
		)
	}
	c.do(http.MethodPost, "/memories", object{"user_id": "ada", "infer": false, "messages": messages}).into(&results{})
	rare := c.adds("A cat sleeps on the sofa of the neighbors.", object{"user_id": "ada",
		"metadata": object{"room": "hall"}})
	for _, path := range []string{"/v3/memories/search/", "/search"} {
		var out results
		c.do(http.MethodPost, path, object{"query": "What is the cat called?", "filters": object{"user_id": "ada",
			"metadata": object{"room": "hall"}}}).into(&out)
		if len(out.Results) != 1 || out.Results[0].ID != rare {
			t.Errorf("%s: found %s", path, out.texts())
		}
	}
}

func TestFiltersThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	for what, filter := range map[string]any{
		"another operator":           every(object{"age": object{"near": 3}}),
		"in without a list":          every(object{"age": object{"in": 3}}),
		"nin without a list":         every(object{"age": object{"nin": "3"}}),
		"a text in a conjunction":    every(object{"AND": []string{"x"}}),
		"a number in a negation":     every(object{"NOT": 3}),
		"a wrong one after right":    object{"user_id": "ada", "kind": object{"eq": "cat", "like": "c%"}},
		"a mixture of lists":         object{"user_id": "ada", "created_at": object{"gt": []string{"2020-01-01"}}},
		"another time":               object{"user_id": "ada", "created_at": object{"gt": "yesterday"}},
		"an operator of others":      object{"user_id": "ada", "categories": object{"gt": "x"}},
		"no keywords":                object{"user_id": "ada", "keywords": 3},
		"a user that is a truth":     object{"user_id": true},
		"an empty comparison":        object{"user_id": object{}},
		"metadata of Cairn":          object{"user_id": "ada", "metadata": object{"mem0": "x"}},
		"ids that are no list":       object{"user_id": "ada", "memory_ids": "x"},
		"without an entity":          object{"kind": "cat"},
		"without an entity, negated": object{"NOT": []object{{"user_id": "ada"}}},
		"no object":                  "user_id = ada",
	} {
		for _, path := range []string{"/v3/memories/", "/search", "/v3/memories/search/"} {
			p := c.do(http.MethodPost, path, object{"query": "x", "filters": filter}).refused(http.StatusBadRequest)
			if p.Code != "invalid_argument" {
				t.Errorf("%s: %+v", what, p)
			}
		}
	}
}

func TestAUserIsKnownByTheirTarget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.User()
	who.Subject.Type, who.Subject.Target = "personal", "Ada"
	addMemory(b, who, "Lives in Bergen.") // as an agent of Cairn does, without mem0's metadata
	if got := b.client().lists("user_id=Ada"); got != "Lives in Bergen." {
		t.Errorf("listed %q", got)
	}
	if got := b.client().lists("user_id=ada"); got != "" {
		t.Errorf("listed %q", got)
	}
}

func TestASearchFindsTheBestFirst(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.adds("The cat is called Miso.", object{"user_id": "ada"})
	c.adds("Drinks green tea in the morning.", object{"user_id": "ada"})
	c.adds("The cat is called Nori.", object{"user_id": "bob"})
	search := func(body object) (out results) {
		t.Helper()
		body["query"], body["user_id"] = "What is the cat called?", "ada"
		c.do(http.MethodPost, "/search", body).into(&out)
		return out
	}
	all := search(object{})
	if len(all.Results) == 0 || all.Results[0].Memory != "The cat is called Miso." || all.Results[0].Score <= 0 ||
		strings.Contains(all.texts(), "Nori") {
		t.Errorf("%+v", all)
	}
	if again := search(object{}); again.texts() != all.texts() {
		t.Errorf("%s, then %s", all.texts(), again.texts())
	}
	if got := search(object{"top_k": 1}); len(got.Results) != 1 {
		t.Errorf("one: %+v", got)
	}
	if got := search(object{"threshold": 0.999}); len(got.Results) != 0 {
		t.Errorf("above a threshold: %+v", got)
	}
	if got := search(object{"metadata": object{"kind": "cat"}}); len(got.Results) != 0 {
		t.Errorf("with metadata that none has: %+v", got)
	}
	many := object{"query": "x", "user_id": "ada", "top_k": 1001}
	c.do(http.MethodPost, "/search", many).refused(http.StatusBadRequest)
}
