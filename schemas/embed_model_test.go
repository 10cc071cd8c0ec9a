package schemas

import (
	"encoding/json"
	"slices"
	"testing"
)

// Endpoints in strict mode reject a schema that allows other properties.
func TestModelSchemasAreStrict(t *testing.T) {
	t.Parallel()
	for _, name := range ModelNames() {
		var root map[string]any
		if err := json.Unmarshal(Model(name), &root); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if root["type"] != "object" {
			t.Errorf("%s: root is %v, want object", name, root["type"])
		}
		requireStrict(t, name, root)
	}
}

func TestModelPanicsOnUnknownName(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Model("no-such-stage")
}

func requireStrict(t *testing.T, at string, node map[string]any) {
	t.Helper()
	switch node["type"] {
	case "object":
		if node["additionalProperties"] != false {
			t.Errorf("%s: additionalProperties is not false", at)
		}
		properties, _ := node["properties"].(map[string]any)
		var required []string
		for _, name := range node["required"].([]any) {
			required = append(required, name.(string))
		}
		if len(required) != len(properties) {
			t.Errorf("%s: %d of %d properties required", at, len(required), len(properties))
		}
		for name, child := range properties {
			if !slices.Contains(required, name) {
				t.Errorf("%s.%s: not required", at, name)
			}
			requireStrict(t, at+"."+name, child.(map[string]any))
		}
	case "array":
		items, ok := node["items"].(map[string]any)
		if !ok {
			t.Fatalf("%s: array without items", at)
		}
		requireStrict(t, at+"[]", items)
	case nil:
		t.Errorf("%s: no type", at)
	}
}
