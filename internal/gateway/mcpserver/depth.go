package mcpserver

import (
	"fmt"

	"cairn/internal/domain/fault"
)

// MostDepth is how deep a tool's arguments may be nested. None needs more than
// four; a decoder's stack is not for a caller to fill.
const MostDepth = 32

// Shallow refuses arguments that are nested too deep. It does not tell whether
// they are JSON.
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
			if depth++; depth > MostDepth {
				return fault.New(fault.InvalidArgument,
					fmt.Sprintf("the arguments are nested more than %d deep", MostDepth),
					"send a flat object that fits the tool's schema")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
