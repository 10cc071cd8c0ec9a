package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
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

// Failure returns the envelope of an error, with at most MaxFailure characters: a model reads it with each later
// request. Extra fields that a program needs are next to code and message, as far as they fit.
func Failure(f *fault.Error) Result { return failure(f, nil) }

// MaxFailure is the maximum length of a failed call's result in characters. The output of a command is not counted: it
// is what the model asked for.
const MaxFailure = 300

const (
	minHint = 100 // characters of a hint that a long message leaves
	minText = 80  // characters of a message that extra fields leave
)

// output names the extra fields that hold the output of a command.
var output = []string{"stdout", "stderr"}

// failure returns an envelope with more members next to the error.
func failure(f *fault.Error, more map[string]any) Result {
	problem := map[string]any{"code": f.Code, "retryable": fault.Table[f.Code].Retryable, "message": ""}
	envelope := map[string]any{"ok": false, "error": problem}
	maps.Copy(envelope, more)
	left := func() int { return MaxFailure - length(envelope) }
	message, hint := fault.Clean(f.Message), fault.Clean(f.Hint)
	if len(f.Extra) > 0 && length(message)+length(hint) > left()-minText {
		hint = fitting(hint, minHint)
	}
	problem["message"] = fitting(message, max(minText, left()-min(length(hint), minHint)-len(`,"hint":""`)))
	if hint != "" {
		problem["hint"] = ""
		problem["hint"] = fitting(hint, left()+len(`""`))
	}
	if problem["hint"] == "" {
		delete(problem, "hint")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Extra)) {
		// The message has the IDs of entries that match, and the prompt has their texts.
		if _, texts := f.Extra[name].([]memory.Hit); texts || slices.Contains(output, name) {
			continue
		}
		if value, fits := fittingValue(f.Extra[name], left()-length(name)-len(`:,`)); fits {
			problem[name] = value
		}
	}
	for _, name := range output {
		if text, found := f.Extra[name]; found {
			problem[name] = text
		}
	}
	raw, err := json.Marshal(envelope)
	if err != nil { // an Extra that does not encode is a bug; the other fields are still useful
		return failure(fault.New(f.Code, f.Message, f.Hint), more)
	}
	return Result{Code: f.Code, JSON: raw}
}

// length is the number of characters of a value in JSON; those that do not encode are too long.
func length(value any) int {
	raw, err := json.Marshal(value)
	if err != nil {
		return math.MaxInt
	}
	return utf8.RuneCount(raw)
}

// fitting shortens a text to at most the given characters of JSON, its quotes included.
func fitting(text string, most int) string {
	if length(text) <= most {
		return text
	}
	runes := []rune(text)
	cut := sort.Search(len(runes), func(n int) bool { return length(string(runes[:n+1])+"…") > most })
	if cut == 0 {
		return ""
	}
	return string(runes[:cut]) + "…"
}

// fittingValue returns a value if it fits, or the first elements of a list that do.
func fittingValue(value any, most int) (any, bool) {
	if length(value) <= most {
		return value, true
	}
	var list []json.RawMessage
	raw, err := json.Marshal(value)
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for len(list) > 0 && length(list) > most {
		list = list[:len(list)-1]
	}
	return list, len(list) > 0
}

// Terminal marks the third consecutive failure of a kind, after which retrying is pointless.
func Terminal(r Result) Result {
	var envelope struct {
		Error struct {
			Message string
			Stdout  *string
			Stderr  *string
		}
	}
	if r.OK || json.Unmarshal(r.JSON, &envelope) != nil {
		return r
	}
	f := &fault.Error{Code: r.Code, Message: envelope.Error.Message}
	if e := envelope.Error; e.Stdout != nil && e.Stderr != nil {
		f = f.With("stdout", *e.Stdout).With("stderr", *e.Stderr)
	}
	return failure(f, map[string]any{"done": true, "next": "stop retrying this and answer the user"})
}
