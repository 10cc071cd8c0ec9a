package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

//go:embed model/*.json
var modelFiles embed.FS

// Model returns the JSON Schema of a model's reply for a stage, such as segment, notes, extract,
// extract_simple, files or judge. Its root is an object that forbids further properties and
// requires all that it names; optional values are nullable. Model panics for an unknown name, since
// names are constants of the program.
func Model(name string) json.RawMessage {
	text, err := modelFiles.ReadFile("model/" + name + ".json")
	if err != nil {
		panic(fmt.Sprintf("schemas: no model schema %q", name))
	}
	return text
}

// ModelNames returns the names of all schemas, sorted.
func ModelNames() []string {
	entries, err := modelFiles.ReadDir("model")
	if err != nil {
		panic(fmt.Sprintf("schemas: list model schemas: %v", err))
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
	}
	return names
}
