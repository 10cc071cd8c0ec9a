package mem0api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
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

// chosen returns the first words of the memories that a filter selects.
func (c client) chosen(filter any) string {
	c.b.t.Helper()
	var out results
	c.do(http.MethodPost, "/v3/memories/", object{"filters": filter}).into(&out)
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

func TestAUserIsKnownByTheirTargetWhateverItsCase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.User()
	who.Subject.Type, who.Subject.Target = "personal", "Ada"
	addMemory(b, who, "Lives in Bergen.") // as an agent of Cairn does, without mem0's metadata
	if got := b.client().lists("user_id=ada"); got != "Lives in Bergen." {
		t.Errorf("listed %q", got)
	}
	if got := b.client().lists("user_id=bob"); got != "" {
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
