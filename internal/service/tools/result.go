package tools

import (
	"encoding/json"
	"fmt"
	"maps"

	"cairn/internal/domain/fault"
)

// Result is the result of a call for models, MCP clients and HTTP callers. All get the same JSON:
// {"ok":true,…} or {"ok":false,"error":{…}}.
type Result struct {
	OK   bool
	Code fault.Code // error code, empty if OK
	JSON json.RawMessage
}

// success adds ok to the fields of out, which must encode as an object.
func success(out any) (Result, error) {
	raw, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("encode a tool's result: %w", err)
	}
	if len(raw) < 2 || raw[0] != '{' {
		return Result{}, fmt.Errorf("tool result is not an object: %.40s", raw)
	}
	joined := `{"ok":true`
	if string(raw) != "{}" {
		joined += "," + string(raw[1:len(raw)-1])
	}
	return Result{OK: true, JSON: json.RawMessage(joined + "}")}, nil
}

// Recorded returns the result of a call whose effect is in the operation log.
func Recorded(effect json.RawMessage) (Result, error) { return success(effect) }

// Failure returns the envelope of an error. Extra fields that a program needs are next to code and message.
func Failure(f *fault.Error) Result {
	problem := map[string]any{}
	maps.Copy(problem, f.Extra)
	problem["code"], problem["retryable"] = f.Code, fault.Table[f.Code].Retryable
	problem["message"] = fault.Clean(f.Message)
	if f.Hint != "" {
		problem["hint"] = fault.Clean(f.Hint)
	}
	raw, err := json.Marshal(map[string]any{"ok": false, "error": problem})
	if err != nil { // an Extra that does not encode is a bug; the other fields are still useful
		return Failure(fault.New(f.Code, f.Message, f.Hint))
	}
	return Result{Code: f.Code, JSON: raw}
}

// Terminal marks the third consecutive failure of a kind, after which retrying is pointless.
func Terminal(r Result) Result {
	var envelope map[string]json.RawMessage
	if r.OK || json.Unmarshal(r.JSON, &envelope) != nil {
		return r
	}
	envelope["done"] = json.RawMessage("true")
	envelope["next"] = json.RawMessage(`"stop retrying this and answer the user"`)
	if raw, err := json.Marshal(envelope); err == nil {
		r.JSON = raw
	}
	return r
}
