package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// checkMembers rejects members that a group of settings does not have, and values of a wrong type. path
// is the name of the group with a dot, empty for all settings.
func checkMembers(path string, group reflect.Type, members map[string]any) error {
	known := membersOf(group)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, exists := known[name]
		if !exists {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown setting %q", path+name),
				suggestion(path, name, known))
		}
		if err := checkValue(path+name, member, members[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(name string, t reflect.Type, value any) error {
	if value == nil {
		return nil
	}
	if t.Kind() == reflect.Struct {
		if inner, ok := value.(map[string]any); ok {
			return checkMembers(name+".", t, inner)
		}
		first := slices.Sorted(maps.Keys(membersOf(t)))[0]
		return fault.New(fault.InvalidArgument, name+" is a group of settings, not a value",
			fmt.Sprintf("set its members, such as %s.%s; %s", name, first, list))
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is %s, must be %s", name, raw, form(t)),
			"docs/reference/settings.md describes the values of each setting")
	}
	return nil
}

// membersOf returns the types of the members of a group by their names in JSON.
func membersOf(group reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(group) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		out[name] = t
	}
	return out
}

// form names the values of a type for people.
func form(t reflect.Type) string {
	if t == reflect.TypeFor[Spend]() {
		return fmt.Sprintf("0 to %d micro-dollars, or %q", int64(MaxSpend), unlimited)
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "an object"
	}
	return "text"
}

// list ends hints.
const list = "`cairn settings show -o json` lists all"

// suggestion names the setting that was meant, or all of the group.
func suggestion(path, name string, known map[string]reflect.Type) string {
	for other := range known {
		if strings.EqualFold(other, name) {
			return fmt.Sprintf("write %s%s; %s", path, other, list)
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	if path != "" {
		return fmt.Sprintf("%s has the settings %s; %s", strings.TrimSuffix(path, "."), names, list)
	}
	return fmt.Sprintf("use one of %s; %s", names, list)
}
