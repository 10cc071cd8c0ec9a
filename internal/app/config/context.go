package config

import (
	"fmt"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
)

// Lengths of contexts in tokens.
const (
	DefaultContext = 128_000
	minContext     = 4_000
	maxContext     = 10_000_000
)

// Contexts are the context lengths of models in tokens.
type Contexts struct {
	Default int
	ByModel map[string]int
}

// For returns the smallest context of some models.
func (c Contexts) For(models ...string) int {
	least := 0
	for _, model := range models {
		tokens, known := c.ByModel[model]
		if !known {
			tokens = c.Default
		}
		if least == 0 || tokens < least {
			least = tokens
		}
	}
	return least
}

// Contexts parses LLM_CONTEXT.
func (c Config) Contexts() (Contexts, error) {
	out := Contexts{Default: DefaultContext, ByModel: map[string]int{}}
	for _, part := range strings.Split(c.LLMContext, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		at := strings.LastIndex(part, "=")
		tokens, err := strconv.Atoi(strings.TrimSpace(part[at+1:]))
		if err != nil || tokens < minContext || tokens > maxContext {
			return out, fault.New(fault.Misconfigured, fmt.Sprintf("invalid LLM_CONTEXT %q", part),
				fmt.Sprintf("use tokens from %d to %d, such as 128000,my-model=32000", minContext, maxContext))
		}
		if at < 0 {
			out.Default = tokens
			continue
		}
		out.ByModel[strings.TrimSpace(part[:at])] = tokens
	}
	return out, nil
}
