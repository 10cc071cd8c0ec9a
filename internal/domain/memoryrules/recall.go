package memoryrules

import (
	"math"
	"slices"
	"strings"

	"cairn/internal/domain/prompt"
)

// fitting is a memory with the share of the question's words that it has.
type fitting struct {
	prompt.StoredMemory
	share float64
}

// fit returns the memories with a word of the question, best match first.
func fit(m prompt.Material) (out []fitting) {
	if m.Question == "" {
		return nil
	}
	for _, s := range m.Stored {
		if share := Share(Terms(m.Question), Terms(s.Content)); share > 0 {
			out = append(out, fitting{s, share})
		}
	}
	slices.SortStableFunc(out, func(a, b fitting) int { return int(1e6 * (b.share - a.share)) })
	if most := m.Limits["max_memories"]; most > 0 {
		out = out[:min(len(out), most)]
	}
	return out
}

func ranking(m prompt.Material) any {
	out := []any{}
	for _, f := range fit(m) {
		out = append(out, map[string]any{"memory": f.Handle, "score": math.Round(100*min(1, f.share)) / 100})
	}
	return out
}

func context(m prompt.Material) any {
	return strings.Join(Each(fit(m), func(f fitting) string { return strings.TrimSpace(f.Content) }), "\n")
}

func used(m prompt.Material) any {
	return Each(fit(m), func(f fitting) string { return f.Handle })
}
