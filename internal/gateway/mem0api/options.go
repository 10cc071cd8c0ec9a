package mem0api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// options says what becomes of each option of a call. Options that it does not name are ignored, and the answer
// names them.
type options struct {
	used    []string            // by the call
	same    map[string][]string // values, as JSON, that describe what Cairn does anyway
	refused map[string]string   // hints of options that would change what is stored, unless they are false
	strict  bool                // unknown options are refused, because they may limit what is deleted
}

// entities are the options that name the owner of memories.
var entities = []string{"user_id", "agent_id", "app_id", "run_id"}

// everyCall are the options that mem0's clients add to all calls. The key selects the workspace, whatever they are.
var everyCall = map[string][]string{"output_format": {`"v1.1"`}, "version": {`"v1"`, `"v2"`, `"v3"`},
	"enable_graph": {"false"}, "async_mode": {"true", "false"}}

func sameAs(more map[string][]string) map[string][]string {
	out := maps.Clone(everyCall)
	maps.Copy(out, more)
	return out
}

var (
	addOptions = options{used: append([]string{"messages", "filters", "metadata", "infer", "memory_type",
		"expiration_date", "timestamp", "async_mode", "prompt", "custom_instructions", "agent_custom_instructions",
		"custom_categories", "includes", "excludes"}, entities...),
		same: sameAs(map[string][]string{"immutable": {"false"}}),
		refused: map[string]string{
			"structured_data_schema": "omit it; describe what to remember in custom_instructions",
			"immutable":              "omit it; all memories can be changed"}}
	listOptions = options{used: append([]string{"filters", "metadata", "page", "page_size", "top_k", "limit",
		"start_date", "end_date", "categories", "keywords", "fields", "show_expired"}, entities...),
		same: sameAs(map[string][]string{"latest_only": {"true", `"true"`}})}
	searchOptions = options{used: append([]string{"query", "filters", "metadata", "top_k", "limit", "page", "page_size",
		"start_date", "end_date", "categories", "keywords", "fields", "show_expired", "threshold", "explain"},
		entities...),
		same: sameAs(map[string][]string{"latest_only": {"true"}, "keyword_search": {"true"}, "rerank": {"false"},
			"filter_memories": {"false"}})}
	deleteOptions = options{used: append([]string{"filters"}, entities...), same: everyCall, strict: true}
	updateOptions = options{used: []string{"text", "data", "memory", "metadata", "expiration_date", "timestamp"},
		same: everyCall}
	removeOptions   = options{same: sameAs(map[string][]string{"delete_linked": {`"false"`, `"False"`}})}
	batchOptions    = options{used: []string{"memories"}, same: everyCall}
	feedbackOptions = options{used: []string{"memory_id", "feedback", "feedback_reason"}, same: everyCall}
	projectOptions  = options{used: []string{"fields", "name", "custom_instructions", "agent_custom_instructions",
		"custom_categories"},
		same: sameAs(map[string][]string{"multilingual": {"true"}, "decay": {"false"}})}
)

// given returns the options of a request as JSON, without those that are null.
func (c *call) given() map[string]string {
	out := map[string]string{}
	for name, values := range c.r.URL.Query() {
		raw, _ := json.Marshal(values[0]) // a text
		out[name] = string(raw)
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(c.body, &members) // read reports an invalid body
	for name, raw := range members {
		if string(raw) != "null" {
			out[name] = string(raw)
		}
	}
	return out
}

// examine refuses the options that a call cannot follow, and notes those that it ignores.
func (c *call) examine(o options) error {
	given := c.given()
	project, _ := json.Marshal(c.from.Workspace.Key)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		switch {
		case slices.Contains(o.used, name), slices.Contains(o.same[name], v),
			name == "org_id" && v == `"`+organization+`"`, name == "project_id" && v == string(project):
			continue
		case o.refused[name] != "":
			return fault.New(fault.InvalidArgument, name+" is not supported", o.refused[name])
		case o.strict && name != "org_id" && name != "project_id":
			return fault.New(
				fault.InvalidArgument,
				fmt.Sprintf("unknown option %.40q", name),
				"use "+strings.Join(
					o.used,
					", ",
				)+"; unknown options are refused, because they may limit what is deleted",
			)
		}
		c.ignored = append(c.ignored, name)
	}
	return nil
}

// ignoring adds the names of ignored options to an answer: as a member if it is an object, and as a header.
func (c *call) ignoring(w http.ResponseWriter, out any) any {
	if len(c.ignored) == 0 {
		return out
	}
	w.Header().Set("X-Ignored-Options", strings.Join(c.ignored, ", "))
	raw, err := json.Marshal(out)
	if err != nil || len(raw) < 2 || raw[0] != '{' {
		return out
	}
	names, _ := json.Marshal(c.ignored)
	comma := ","
	if len(raw) == 2 {
		comma = ""
	}
	return json.RawMessage(string(raw[:len(raw)-1]) + comma + `"ignored":` + string(names) + "}")
}
