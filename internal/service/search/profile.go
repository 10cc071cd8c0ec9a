package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/search"
)

// ParseProfile parses parameters of a search in the form NAME=VALUE, such as rrf_k=60,
// w_type.summary=1 or neighbors=[0.3,0.4,0.2,0.2].
func ParseProfile(args []string) (p search.Profile, err error) {
	members := map[string]any{}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found || name == "" || value == "" {
			return p, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid search parameter %q", arg),
				"use NAME=VALUE, such as rrf_k=60")
		}
		var parsed any = value
		if raw := json.RawMessage(value); json.Valid(raw) {
			parsed = raw
		}
		outer, inner, nested := strings.Cut(name, ".")
		if !nested {
			members[name] = parsed
			continue
		}
		below, _ := members[outer].(map[string]any)
		if below == nil {
			below = map[string]any{}
			members[outer] = below
		}
		below[inner] = parsed
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return p, fmt.Errorf("encode the search parameters: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fault.New(
			fault.InvalidArgument,
			"invalid search parameter: "+strings.TrimPrefix(
				err.Error(),
				"json: ",
			),
			"docs/reference/settings.md lists the parameters under search",
		)
	}
	return p, p.Validate()
}
