package memoryrules

import (
	"slices"

	"cairn/internal/domain/annotate"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
)

// A record of messages is made of their own sentences: what people asked first,
// what tells most, and which tools were used.

// usualRecord is how many tokens a record has where no limit is given.
const usualRecord = 300

// room divides a record: a sixth for the goal, the rest for facts and actions.
func room(m prompt.Material, sixths int) int {
	most := m.Limits["max_tokens"]
	if most == 0 {
		most = usualRecord
	}
	return most * sixths / 6
}

func sentences(m prompt.Material) (out []annotate.Sentence) {
	mask := annotate.NewMask(m.Messages)
	for _, one := range m.Messages {
		if one.Role == "user" || one.Role == "assistant" {
			out = append(out, mask.Sentences(one)...)
		}
	}
	return slices.DeleteFunc(out, func(s annotate.Sentence) bool { return s.Greeting })
}

// goal is what was asked first.
func goal(m prompt.Material) any {
	said := slices.DeleteFunc(sentences(m), func(s annotate.Sentence) bool { return s.Role != "user" })
	if len(said) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(said, func(s annotate.Sentence) bool { return s.Imperative || s.Question }))
	return first([]string{said[at].Raw}, room(m, 1))[0]
}

// keyFacts are the sentences that tell most for their length, in their order.
func keyFacts(m prompt.Material) any {
	said := slices.DeleteFunc(sentences(m), func(s annotate.Sentence) bool { return s.Question })
	ranked := slices.Clone(said)
	slices.SortStableFunc(ranked, func(a, b annotate.Sentence) int { return telling(b) - telling(a) })
	kept := first(annotate.Distinct(annotate.Each(ranked, func(s annotate.Sentence) string { return s.Raw }),
		len(ranked)), room(m, 3))
	told := slices.DeleteFunc(annotate.Each(said, func(s annotate.Sentence) string { return s.Raw }),
		func(raw string) bool { return !slices.Contains(kept, raw) })
	return annotate.Distinct(told, len(told))
}

// telling counts names and numbers twice.
func telling(s annotate.Sentence) int {
	n := min(len(annotate.Terms(s.Raw)), 12)
	if s.Text != s.Raw { // something of it was masked
		n += n
	}
	return n
}

// recentActions are the calls of tools, the latest ones.
func recentActions(m prompt.Material) any {
	calls := annotate.Each(annotate.Calls(m.Messages), func(c annotate.Call) string {
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

// first are as many of the texts as have so many tokens, one at least; it may be cut.
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
