package prompt

import (
	"encoding/json"

	"cairn/schemas"
)

// Schema returns the JSON Schema of a stage's reply, which is named by s.Schema. It panics for a
// stage with a free-text reply: stages are constants of the program.
func Schema(s Stage) json.RawMessage { return schemas.Model(s.Schema()) }
