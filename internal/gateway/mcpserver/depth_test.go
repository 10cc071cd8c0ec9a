package mcpserver

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
)

func TestArgumentsAreNestedAsDeepAsTheyMayBe(t *testing.T) {
	t.Parallel()
	for arguments, ok := range map[string]bool{
		`{"a":[1,{"b":2}]}`: true,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth):     true,
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): false,
		strings.Repeat(`{"a":`, MaxDepth+1):                               false,
		`{"a":"` + strings.Repeat("[", 100) + `"}`:                        true,
		`{"a":"\"` + strings.Repeat("[", 100) + `"}`:                      true,
		`[` + strings.Repeat("[],", 100) + `[]]`:                          true,
		`{"a":"\\",` + strings.Repeat(`"b":[`, MaxDepth) + `1`:            false,
	} {
		if err := Shallow([]byte(arguments)); (err == nil) != ok || err != nil &&
			fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%.60s: %v", arguments, err)
		}
	}
}
