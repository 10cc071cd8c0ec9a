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
		strings.Repeat("[", MostDepth) + strings.Repeat("]", MostDepth):     true,
		strings.Repeat("[", MostDepth+1) + strings.Repeat("]", MostDepth+1): false,
		strings.Repeat(`{"a":`, MostDepth+1):                                false,
		`{"a":"` + strings.Repeat("[", 100) + `"}`:                          true,
		`{"a":"\"` + strings.Repeat("[", 100) + `"}`:                        true,
		`[` + strings.Repeat("[],", 100) + `[]]`:                            true,
		`{"a":"\\",` + strings.Repeat(`"b":[`, MostDepth) + `1`:             false,
	} {
		if err := Shallow([]byte(arguments)); (err == nil) != ok || err != nil &&
			fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%.60s: %v", arguments, err)
		}
	}
}
