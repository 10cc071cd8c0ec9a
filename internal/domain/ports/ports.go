// Package ports checks the dependencies that a service is constructed with.
package ports

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Require returns an error that names the first nil port of a service, in alphabetical order. A
// port is an interface, a pointer, a function or a map.
func Require(service string, required map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if port := required[name]; port == nil || isNil(reflect.ValueOf(port)) {
			return fmt.Errorf("%s: port %s is nil", service, name)
		}
	}
	return nil
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Interface, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}
