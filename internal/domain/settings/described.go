package settings

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed described.json
var described []byte

// Description describes a setting to users. The descriptions are generated from the comments of the fields.
type Description struct {
	Name    string          `json:"name"` // with the names of its groups, such as nudge.every
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
	Text    string          `json:"description"` // meaning, range and effect
}

var descriptions = sync.OnceValue(func() (out []Description) {
	if err := json.Unmarshal(described, &out); err != nil {
		panic(fmt.Sprintf("described.json: %v", err))
	}
	return out
})

// Descriptions returns the descriptions of all settings, by name.
func Descriptions() []Description { return descriptions() }
