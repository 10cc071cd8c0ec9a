package mcpserver

import (
	"fmt"

	"cairn/internal/domain/fault"
)

// MaxDepth is the maximum nesting depth of a tool's arguments. No tool needs more than
// four levels. The limit protects the stack of the JSON decoder.
const MaxDepth = 32

// Shallow returns an error if arguments are nested too deep. It does not check that they
// are valid JSON.
func Shallow(arguments []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(arguments); i++ {
		switch c := arguments[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fault.New(fault.InvalidArgument,
					fmt.Sprintf("arguments are nested more than %d levels deep", MaxDepth),
					"send a flat object that matches the tool's schema")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
