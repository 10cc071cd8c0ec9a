package memoryrules

import (
	"slices"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
)

// A summary of messages consists of their own sentences: the first request, the most informative
// sentences, and the tools used.

// usualRecord is the default size of a summary in tokens.
const usualRecord = 300

// room divides the tokens of a summary: a sixth for the goal, the rest for facts and actions.
func room(m prompt.Material, sixths int) int {
	most := m.Limits["max_tokens"]
	if most == 0 {
		most = usualRecord
	}
	return most * sixths / 6
}

func sentences(m prompt.Material) (out []Sentence) {
	mask := NewMask(m.Messages)
	for _, one := range m.Messages {
		if one.Role == "user" || one.Role == "assistant" {
			out = append(out, mask.Sentences(one)...)
		}
	}
	return slices.DeleteFunc(out, func(s Sentence) bool { return s.Greeting })
}

// goal returns the first request.
func goal(m prompt.Material) any {
	said := slices.DeleteFunc(sentences(m), func(s Sentence) bool { return s.Role != "user" })
	if len(said) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(said, func(s Sentence) bool { return s.Imperative || s.Question }))
	return first([]string{said[at].Raw}, room(m, 1))[0]
}

// keyFacts returns the sentences with the most information for their length, in their order.
func keyFacts(m prompt.Material) any {
	said := slices.DeleteFunc(sentences(m), func(s Sentence) bool { return s.Question })
	ranked := slices.Clone(said)
	slices.SortStableFunc(ranked, func(a, b Sentence) int { return telling(b) - telling(a) })
	kept := first(Distinct(Each(ranked, func(s Sentence) string { return s.Raw }),
		len(ranked)), room(m, 3))
	told := slices.DeleteFunc(Each(said, func(s Sentence) string { return s.Raw }),
		func(raw string) bool { return !slices.Contains(kept, raw) })
	return Distinct(told, len(told))
}

// telling scores a sentence. Names and numbers have double weight.
func telling(s Sentence) int {
	n := min(len(Terms(s.Raw)), 12)
	if s.Text != s.Raw { // a part was masked
		n += n
	}
	return n
}

// recentActions returns the latest tool calls.
func recentActions(m prompt.Material) any {
	calls := Each(Calls(m.Messages), func(c Call) string {
		if c.Failed {
			return c.Tool + " " + c.Arguments + ": failed"
		}
		return c.Tool + " " + c.Arguments
	})
	slices.Reverse(calls)
	calls = first(calls, room(m, 1))
	slices.Reverse(calls)
	return calls
}

// first returns as many texts as fit into tokens, at least one. The last one may be cut.
func first(texts []string, tokens int) (out []string) {
	for _, text := range texts {
		if tokens -= lang.EstimateTokens(text); tokens < 0 {
			if runes := []rune(text); len(out) == 0 {
				out = append(out, string(runes[:min(len(runes), 200)]))
			}
			return out
		}
		out = append(out, text)
	}
	return out
}
