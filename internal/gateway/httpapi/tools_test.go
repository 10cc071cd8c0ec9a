package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
)

func TestAToolIsCalledOnceAsTheUser(t *testing.T) {
	t.Parallel()
	b := idle(t)
	call := request{method: http.MethodPost, path: "/v1/tools/memory_save",
		body: map[string]any{"content": "Lives in Osaka."}, header: map[string]string{"Idempotency-Key": "k1"}}
	first := b.do(call)
	var got struct {
		OK     bool
		Action string
		IDs    []string
	}
	if first.into(http.StatusOK, &got); !got.OK || got.Action != "added" {
		t.Fatalf("called: %s", first.body)
	}
	if again := b.do(call); string(again.body) != string(first.body) {
		t.Errorf("called again: %s", again.body)
	}
	var e httpapi.Memory
	if b.get("/v1/memories/"+got.IDs[0]).into(http.StatusOK, &e); e.Origin != string(agent.OriginUser) {
		t.Errorf("written by %s", e.Origin)
	}
	call.body = map[string]any{"content": "Lives in Kyoto."}
	b.do(call).refused(fault.OpReused)
	b.post("/v1/tools/memory_save", map[string]any{"text": "Lives in Osaka."}).refused(fault.InvalidArgument)
	b.post("/v1/tools/memory_save", `{"content":`).refused(fault.InvalidArgument)
	b.post("/v1/tools/memory_save", strings.Repeat(`{"content":`, 40)).refused(fault.InvalidArgument)
	b.post("/v1/tools/launch", map[string]any{}).refused(fault.UnknownTool)

	look := b.makeKey(b.Workspace, access.Read)
	b.do(request{method: http.MethodPost, path: "/v1/tools/memory_search", key: look,
		body: map[string]any{"query": "Osaka"}}).into(http.StatusOK, nil)
	b.do(request{method: http.MethodPost, path: "/v1/tools/memory_save", key: look,
		body: map[string]any{"content": "x"}}).refused(fault.OutOfScope)
}

func TestToolsAreListedInTheirOrderWithSchemas(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var list struct {
		Tools []struct {
			Name, Description string
			Input, Output     struct {
				Type       string
				Properties map[string]json.RawMessage
			}
			ReadOnly bool `json:"read_only"`
		}
	}
	b.get("/v1/tools").into(http.StatusOK, &list)
	offered := b.Offered.Offered(agent.OriginUser)
	if len(list.Tools) != len(offered) || len(offered) < 6 {
		t.Fatalf("%d tools listed, %d there are", len(list.Tools), len(offered))
	}
	bare := []string{"read_meta_memory", "load_meta_skills"} // take no arguments
	for i, tool := range list.Tools {
		if tool.Name != offered[i].Name || tool.Description == "" || tool.Input.Type != "object" ||
			(len(tool.Input.Properties) == 0) != slices.Contains(bare, tool.Name) || tool.Output.Type != "object" ||
			tool.ReadOnly != offered[i].ReadOnly {
			t.Errorf("%d: %+v", i, tool)
		}
	}
}
