package tools_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// Only the agent of a turn has the tools of working memory. Neither takes a session.
func TestSchemasOfWorkingToolsMatchGolden(t *testing.T) {
	t.Parallel()
	made, err := tools.WorkingMemory(nil)
	testkit.Must(t, err)
	for i, tool := range made {
		if tool.Name != tools.Working[i] || !tool.Allows(agent.OriginAgent) || tool.Allows(agent.OriginNudge) ||
			tool.Allows(agent.OriginUser) || !tool.ReadOnly {
			t.Errorf("%s: %v", tool.Name, tool.Origins)
		}
		var got bytes.Buffer
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		testkit.Must(t, encoder.Encode(map[string]any{"description": tool.Description, "input": tool.Input,
			"output": tool.Output}))
		file := filepath.Join("testdata", "working", tool.Name+".json")
		if *update {
			testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			testkit.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
		}
		want, err := os.ReadFile(file)
		testkit.Must(t, err)
		if got.String() != string(want) {
			t.Errorf("%s differs from %s; run go test -update and read the diff", tool.Name, file)
		}
	}
}
