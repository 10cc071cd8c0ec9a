package tools

import (
	"encoding/json"
	"fmt"
	"maps"

	"cairn/internal/domain/fault"
)

// Result is what a model, an MCP client or an HTTP caller gets of a call: the
// same JSON for all of them, {"ok":true,…} or {"ok":false,"error":{…}}.
type Result struct {
	OK   bool
	Code fault.Code // why not OK
	JSON json.RawMessage
}

// success puts ok before the members of out, which must be an object.
func success(out any) (Result, error) {
	raw, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("encode a tool's result: %w", err)
	}
	if len(raw) < 2 || raw[0] != '{' {
		return Result{}, fmt.Errorf("a tool's result is no object: %.40s", raw)
	}
	joined := `{"ok":true`
	if string(raw) != "{}" {
		joined += "," + string(raw[1:len(raw)-1])
	}
	return Result{OK: true, JSON: json.RawMessage(joined + "}")}, nil
}

// Recorded is the result of a call whose effect is in the operation log.
func Recorded(effect json.RawMessage) (Result, error) { return success(effect) }

// Failure is the envelope of an error. What a program needs for the next step
// stands beside code and message.
func Failure(f *fault.Error) Result {
	problem := map[string]any{}
	maps.Copy(problem, f.Extra)
	problem["code"], problem["message"], problem["retryable"] = f.Code, f.Message, fault.Table[f.Code].Retryable
	if f.Hint != "" {
		problem["hint"] = f.Hint
	}
	raw, err := json.Marshal(map[string]any{"ok": false, "error": problem})
	if err != nil { // an Extra that is no JSON is a defect; the rest is still an answer
		return Failure(fault.New(f.Code, f.Message, f.Hint))
	}
	return Result{Code: f.Code, JSON: raw}
}

// Terminal adds to a failure that trying again is no use: it was the third of
// its kind in a row.
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
