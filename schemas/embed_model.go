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

// Model is the JSON Schema of what a model returns for a stage: chunk, rewrite,
// extract, extract_simple, judge, scripts or doc. Its root is an object, it allows no
// further properties and requires each that it names; what may be missing is
// nullable. Model panics on a name that has no schema, since names are
// constants of the program.
func Model(name string) json.RawMessage {
	text, err := modelFiles.ReadFile("model/" + name + ".json")
	if err != nil {
		panic(fmt.Sprintf("schemas: no model schema %q", name))
	}
	return text
}

// ModelNames lists the names that Model knows, sorted.
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
