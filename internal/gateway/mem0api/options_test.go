package mem0api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What becomes of an option.
const (
	used    = "used"
	ignored = "ignored" // and named in the answer
	refused = "refused" // with status 400
)

// mem0Options lists each option of the clients 0.1.118, 1.0.0, 2.2.1 and npm 3.3.1, with a value. The check program
// under clients/mem0 compares the list with the installed clients.
var mem0Options = map[string]map[string]struct {
	value any
	want  string
}{
	"POST /v3/memories/add/": {
		"user_id": {"ada", used}, "agent_id": {"cook", used}, "app_id": {"shop", used}, "run_id": {"r1", used},
		"filters": {object{"user_id": "ada"}, used}, "metadata": {object{"n": 1}, used}, "infer": {false, used},
		"custom_categories":   {[]object{{"pets": "cats"}}, used},
		"custom_instructions": {"Only places.", used}, "agent_custom_instructions": {"Only steps.", used},
		"timestamp": {1700000000, used}, "expiration_date": {"2999-01-01", used}, "async_mode": {true, used},
		"structured_data_schema": {object{"type": "object"}, refused}, "immutable": {true, refused},
		"includes": {"places", used}, "excludes": {"names", used}, "prompt": {"Only places.", used},
		"memory_type": {"procedural_memory", used}, "enable_graph": {true, ignored}, "output_format": {"v1.0", ignored},
		"version": {"v2", used}, "source": {"OPENCLAW", ignored}, "org_id": {"another", ignored},
		"project_id": {"another", ignored},
	},
	"POST /v3/memories/search/": {
		"filters":        {object{"user_id": "ada"}, used},
		"metadata":       {object{"n": 1}, used},
		"top_k":          {3, used},
		"limit":          {3, used},
		"rerank":         {true, ignored},
		"threshold":      {0.1, used},
		"fields":         {[]string{"id"}, used},
		"categories":     {[]string{"pets"}, used},
		"show_expired":   {true, used},
		"reference_date": {"2026-01-01", ignored},
		"latest_only":    {true, used},
		"keyword_search": {true, used},
		"user_id":        {"ada", used},
		"agent_id":       {"cook", used},
		"app_id":         {"shop", used},
		"run_id":         {"r1", used},
		"source":         {"OPENCLAW", ignored},
		"enable_graph": {
			true,
			ignored,
		},
		"filter_memories":    {true, ignored},
		"retrieval_criteria": {[]object{}, ignored},
	},
	"POST /v3/memories/": {
		"filters": {object{"user_id": "ada"}, used}, "page": {1, used}, "page_size": {10, used},
		"start_date": {"2020-01-01", used}, "end_date": {"2999-01-01", used}, "categories": {[]string{"pets"}, used},
		"show_expired": {true, used}, "latest_only": {false, ignored}, "keywords": {"cat", used}, "top_k": {5, used},
		"user_id": {"ada", used}, "agent_id": {"cook", used}, "app_id": {"shop", used}, "run_id": {"r1", used},
		"metadata": {object{"n": 1}, used}, "fields": {[]string{"id"}, used}, "enable_graph": {true, ignored},
	},
	"DELETE /v1/memories/": {
		"filters": {"{'user_id': 'nobody-here'}", used}, "user_id": {"x", used}, "agent_id": {"x", used},
		"app_id": {"x", used}, "run_id": {"x", used}, "org_id": {"another", ignored}, "before": {"2020-01-01", refused},
	},
	"PUT /v1/memories/{id}/": {
		"text": {"The cat is called Nori.", used}, "metadata": {object{"n": 2}, used}, "timestamp": {1700000000, used},
		"expiration_date": {"2999-01-01", used}, "immutable": {true, ignored},
	},
	"DELETE /v1/memories/{other}/": {"delete_linked": {"true", ignored}},
	"POST /v1/feedback/": {
		"feedback": {"POSITIVE", used}, "feedback_reason": {"right", used}, "weight": {3, ignored},
	},
	"PATCH {project}": {
		"name": {"Shop", used}, "custom_instructions": {"Only places.", used},
		"agent_custom_instructions": {"Only steps.", used}, "custom_categories": {[]string{"pets"}, used},
		"multilingual": {false, ignored}, "decay": {true, ignored}, "memory_depth": {"deep", ignored},
		"usecase_setting": {"x", ignored}, "retrieval_criteria": {[]object{}, ignored}, "enable_graph": {true, ignored},
		"version": {"v9", ignored},
	},
}

func TestEachOptionIsUsedRefusedOrNamed(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	for route, options := range mem0Options {
		for name, o := range options {
			method, path, _ := strings.Cut(route, " ")
			id := c.adds("The cat of "+route+" "+name, object{"user_id": "ada"})
			path = strings.NewReplacer("{id}", id, "{other}", id, "{project}", c.project()).Replace(path)
			body := object{"filters": object{"user_id": "ada"}, "messages": "x", "infer": false, "query": "cat",
				"memory_id": id, "custom_instructions": "x", "name": "x", "feedback": "POSITIVE", "text": "cat " + name}
			for other := range body { // only what the route takes
				if _, known := options[other]; !known && other != "messages" && other != "query" &&
					other != "memory_id" ||
					other == "messages" && !strings.Contains(path, "/add/") ||
					other == "query" && !strings.Contains(path, "/search/") ||
					other == "memory_id" && !strings.Contains(path, "/feedback/") {
					delete(body, other)
				}
			}
			body[name] = o.value
			if method == http.MethodDelete {
				text, _ := o.value.(string)
				path, body = path+"?"+name+"="+strings.NewReplacer(" ", "%20", "'", "%27").Replace(text), nil
				if name == "org_id" || name == "before" {
					path += "&user_id=x"
				}
			}
			r := c.do(method, path, body)
			if o.want == refused {
				if p := r.refused(http.StatusBadRequest); !strings.Contains(p.Detail, name) {
					t.Errorf("%s with %s: %+v", route, name, p)
				}
				continue
			}
			var out struct{ Ignored []string }
			if r.into(&out); slices.Contains(out.Ignored, name) != (o.want == ignored) ||
				len(out.Ignored) > 0 && o.want == used {
				t.Errorf("%s with %s: ignored %v, but it is %s", route, name, out.Ignored, o.want)
			}
			if o.want == ignored && !strings.Contains(r.header.Get("X-Ignored-Options"), name) {
				t.Errorf("%s with %s: header %q", route, name, r.header.Get("X-Ignored-Options"))
			}
		}
	}
}

// A bare list has no members, so a header names the ignored options.
func TestAListNamesIgnoredOptionsInAHeader(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	r := c.do(http.MethodGet, "/v1/memories/?user_id=ada&enable_graph=true&org_id=x", nil)
	if got := r.header.Get("X-Ignored-Options"); got != "enable_graph, org_id" || string(r.body) != "[]\n" {
		t.Errorf("%q: %s", got, r.body)
	}
}

func TestUpdatesTakeTimesDatesAndMetadata(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	id := c.adds("The cat is called Miso.", object{"user_id": "ada", "metadata": object{"n": 1}})
	path := "/v1/memories/" + id + "/"
	for _, at := range []any{1700000000, "2023-11-14T22:13:20Z", 1700000000.0} {
		c.do(http.MethodPut, path, object{"timestamp": at}).into(&struct{}{})
		if got := c.field(id, "timestamp"); got != 1700000000.0 {
			t.Errorf("%v: %v", at, got)
		}
		if got := c.platform(object{"user_id": "ada", "timestamp": "2023-11-14"}); got != "The" {
			t.Errorf("%v: found %q", at, got)
		}
	}
	c.do(http.MethodPut, path, object{"timestamp": "soon"}).refused(http.StatusBadRequest)
	batch := object{"memories": []object{{"memory_id": id, "metadata": object{"n": 2}}}}
	c.do(http.MethodPut, "/v1/batch/", batch).into(&struct{}{})
	metadata, _ := c.field(id, "metadata").(map[string]any)
	if metadata["n"] != 2.0 || c.field(id, "memory") != "The cat is called Miso." {
		t.Errorf("metadata %v, text %v", metadata, c.field(id, "memory"))
	}
}

func TestResultsHaveTheFieldsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	c := setup(t).client()
	c.adds("The cat is called Miso.", object{"user_id": "ada"})
	for _, path := range []string{"/v3/memories/", "/v3/memories/search/"} {
		var out struct{ Results []map[string]any }
		c.do(http.MethodPost, path, object{"query": "cat", "filters": object{"user_id": "ada"},
			"fields": []string{"id", "memory"}}).into(&out)
		if len(out.Results) != 1 || len(out.Results[0]) != 2 || out.Results[0]["memory"] != "The cat is called Miso." {
			t.Errorf("%s: %+v", path, out)
		}
	}
}
