package mem0api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// fits evaluates a mem0 filter. Members are combined with AND; AND, OR and NOT can nest.
// The value of a member is a value to equal, * for any, or an object of operators.
func fits(filter any, e memory.Entry) (bool, error) {
	members, ok := filter.(map[string]any)
	if !ok {
		return false, fault.New(fault.InvalidArgument, "filter must be a JSON object", "")
	}
	all := true
	for name, want := range members { // evaluates all members, so that each invalid one is reported
		var ok bool
		var err error
		switch name {
		case "AND", "OR", "NOT":
			ok, err = combined(name, want, e)
		case "user_id", "agent_id", "app_id", "run_id":
			ok, err = compared(mem0Value(e, name), want)
			// identified by its target, which ignores case
			if id, text := want.(string); text && e.Metadata[mem0Facts] == nil {
				held, _ := mem0Value(e, name).(string)
				ok = ok || held != "" && strings.EqualFold(held, id)
			}
		default:
			ok, err = compared(mem0Value(e, name), want)
		}
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func combined(how string, want any, e memory.Entry) (bool, error) {
	list, ok := want.([]any)
	if !ok {
		list = []any{want}
	}
	some, every := false, true
	for _, one := range list {
		ok, err := fits(one, e)
		if err != nil {
			return false, err
		}
		some, every = some || ok, every && ok
	}
	switch how {
	case "AND":
		return every, nil
	case "OR":
		return some, nil
	}
	return !some, nil
}

// mem0Value returns the value of an entry's field; nil means not set.
func mem0Value(e memory.Entry, name string) any {
	f := factsOf(e)
	switch name {
	case "user_id", "agent_id", "app_id", "run_id":
		return orNothing(*f.entity.named(name))
	case "created_at":
		return e.CreatedAt.UTC().Format(time.RFC3339)
	case "updated_at":
		return e.UpdatedAt.UTC().Format(time.RFC3339)
	case "memory":
		return e.Content
	}
	return e.Metadata[name]
}

func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func compared(has, want any) (bool, error) {
	if want == "*" {
		return has != nil, nil
	}
	operators, ok := want.(map[string]any)
	if !ok {
		if list, ok := want.([]any); ok {
			return within(has, list), nil
		}
		return same(has, want), nil
	}
	all := true
	for op, value := range operators {
		ok, err := operated(op, has, value)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func operated(op string, has, value any) (bool, error) {
	list, isList := value.([]any)
	if (op == "in" || op == "nin") && !isList {
		return false, fault.New(fault.InvalidArgument, fmt.Sprintf("value of %q must be a list", op), "")
	}
	switch op {
	case "eq":
		return same(has, value), nil
	case "ne":
		return !same(has, value), nil
	case "in":
		return within(has, list), nil
	case "nin":
		return !within(has, list), nil
	case "contains":
		return has != nil && strings.Contains(fmt.Sprint(has), fmt.Sprint(value)), nil
	case "icontains":
		return has != nil && strings.Contains(strings.ToLower(fmt.Sprint(has)), strings.ToLower(fmt.Sprint(value))), nil
	case "gt", "gte", "lt", "lte":
		if has == nil {
			return false, nil
		}
		n := order(has, value)
		return op == "gt" && n > 0 || op == "gte" && n >= 0 || op == "lt" && n < 0 || op == "lte" && n <= 0, nil
	}
	return false, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown operator %q", op),
		"use one of eq, ne, gt, gte, lt, lte, in, nin, contains, icontains")
}

func within(has any, list []any) bool {
	for _, v := range list {
		if same(has, v) {
			return true
		}
	}
	return false
}

// same compares two values after conversion to JSON.
func same(has, want any) bool {
	a, _ := json.Marshal(has)
	b, _ := json.Marshal(want)
	return string(a) == string(b)
}

func order(a, b any) int {
	x, isNumber := a.(float64)
	y, both := b.(float64)
	if isNumber && both {
		return cmp.Compare(x, y)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
