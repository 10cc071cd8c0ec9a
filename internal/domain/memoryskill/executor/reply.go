package executor

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"cairn/internal/domain/memoryskill"
)

// Decode decodes a reply: a JSON object with actions, else text blocks. An empty reply, or prose
// without actions, is NoOp. An incomplete action is ParseError.
func Decode(reply string) ([]Action, Outcome) {
	text := strings.TrimSpace(strings.ReplaceAll(reply, "\r\n", "\n"))
	if actions, found := fromJSON(text); found {
		return actions, outcomeOf(actions)
	}
	actions, broken := fromBlocks(text)
	switch {
	case len(actions) > 0:
		return actions, outcomeOf(actions)
	case broken || strings.HasPrefix(strings.TrimSpace(unfenced(text)), "{"):
		return nil, ParseError
	}
	return nil, NoOp
}

func outcomeOf(actions []Action) Outcome {
	if slices.ContainsFunc(actions, func(a Action) bool { return a.Type != memoryskill.Noop }) {
		return OK
	}
	return NoOp
}

// fromJSON parses {"actions": [...]}, a list, or one action. Keys can be in any case.
func fromJSON(text string) ([]Action, bool) {
	text = strings.TrimSpace(unfenced(text))
	start, end := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if start < 0 || end < start || strings.TrimSpace(text[:start]) != "" {
		return nil, false
	}
	var value any
	if json.Unmarshal([]byte(text[start:end+1]), &value) != nil {
		return nil, false
	}
	if object, ok := value.(map[string]any); ok {
		object = lowered(object)
		list, listed := object["actions"]
		if !listed {
			if object["type"] == nil && object["action"] == nil {
				return nil, false
			}
			list = []any{object}
		}
		value = list
	}
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	actions := []Action{}
	for _, one := range list {
		object, ok := one.(map[string]any)
		if !ok {
			return nil, false
		}
		actions = append(actions, spread(lowered(object))...)
	}
	return actions, true
}

// plain returns a JSON text or number as text.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return ""
}

// spread returns the actions of one object. An object that names several memories to delete gives
// several actions.
func spread(m map[string]any) (out []Action) {
	a := action(m)
	targets, several := m["target"].([]any)
	if !several {
		targets, several = m["memory_index"].([]any)
	}
	if !several || a.Type != memoryskill.Delete {
		return []Action{a}
	}
	for _, target := range targets {
		a.Target = handle(plain(target))
		out = append(out, a)
	}
	return out
}

func action(m map[string]any) Action {
	text := func(names ...string) string {
		for _, name := range names {
			if v := plain(m[name]); v != "" {
				return v
			}
		}
		return ""
	}
	a := Action{Type: memoryskill.ParseAction(text("type", "action")), Target: handle(text("target", "memory_index")),
		Content: text("content", "memory_item", "updated_memory"),
		About:   text("about"), Kind: text("memory_type"), Skill: text("skill")}
	if a.Type == "" {
		a.Type = memoryskill.Action(text("type", "action"))
	}
	if list, ok := m["evidence"].([]any); ok {
		for _, v := range list {
			if n, ok := v.(float64); ok && math.Abs(n) <= math.MaxInt32 {
				a.Evidence = append(a.Evidence, int(n))
			}
		}
	}
	return a
}

func lowered(m map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range m {
		out[strings.ReplaceAll(strings.ToLower(key), " ", "_")] = v
	}
	return out
}

// HandlePrefix is the prefix of a memory's handle: m0, m1 and so on.
const HandlePrefix = "m"

// handle returns the handle for a number or a name in brackets.
func handle(text string) string {
	text = strings.ToLower(strings.Trim(strings.TrimSpace(text), "[]()#.`*\"' "))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return HandlePrefix + text
	}
	return text
}
