package workflows_test

import (
	"encoding/base64"
	"encoding/json"
	"iter"
	"testing"
)

// payloads returns all decoded payloads of a history.
func payloads(t *testing.T, history []byte) iter.Seq[string] {
	t.Helper()
	var root any
	if err := json.Unmarshal(history, &root); err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) { walk(root, yield) }
}

func walk(node any, yield func(string) bool) bool {
	switch node := node.(type) {
	case map[string]any:
		if data, ok := node["data"].(string); ok {
			if raw, err := base64.StdEncoding.DecodeString(data); err == nil && !yield(string(raw)) {
				return false
			}
		}
		for _, child := range node {
			if !walk(child, yield) {
				return false
			}
		}
	case []any:
		for _, child := range node {
			if !walk(child, yield) {
				return false
			}
		}
	}
	return true
}
