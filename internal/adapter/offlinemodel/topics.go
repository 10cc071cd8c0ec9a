package offlinemodel

import (
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
)

// cohesion is the share of common terms from which a unit stays with its topic.
const cohesion = 0.12

// topic is a group of messages about one subject. The smallest is a unit: a user message with all
// replies to it.
type topic struct {
	indices []int // of the messages
	terms   []string
	work    bool // tools were called, or something was requested or explained
}

// topics divides a transcript by lexical cohesion. A unit stays with its neighbor as long as they
// share terms, including tool names. Work that shares no terms opens a topic or returns to an
// earlier one. Greetings belong to no topic, system messages to every one. The largest are kept up
// to the limit, in order of their start.
func (v *view) topics() []*view {
	var topics []*topic
	current := &topic{}
	said := v.only(func(m prompt.Message) bool { return m.Role != "system" })
	for from, to := 0, 0; from < len(said); from = to {
		for to = from + 1; to < len(said) && said[to].Role != "user"; {
			to++
		}
		unit := v.over(said[from:to]).unit()
		if unit == nil {
			continue
		}
		best, most := current, memoryrules.Share(unit.terms, current.terms)
		for _, t := range topics {
			if s := memoryrules.Share(unit.terms, t.terms); s > most {
				best, most = t, s
			}
		}
		if len(topics) == 0 || most < cohesion && unit.work && current.work {
			best = &topic{}
			topics = append(topics, best)
		}
		current = best
		current.indices = append(current.indices, unit.indices...)
		current.terms = append(current.terms, unit.terms...)
		current.work = current.work || unit.work
	}
	large := slices.SortedStableFunc(slices.Values(topics), func(a, b *topic) int {
		return len(b.indices) - len(a.indices)
	})
	if most := v.material.Limits["max_tasks"]; most > 0 {
		large = large[:min(most, len(large))]
	}
	topics = slices.DeleteFunc(topics, func(t *topic) bool { return !slices.Contains(large, t) })
	return memoryrules.Each(topics, func(t *topic) *view {
		return v.over(v.only(func(m prompt.Message) bool {
			return m.Role == "system" || slices.Contains(t.indices, m.Index)
		}))
	})
}

func (v *view) only(fits func(prompt.Message) bool) []prompt.Message {
	return slices.DeleteFunc(slices.Clone(v.messages), func(m prompt.Message) bool { return !fits(m) })
}

// unit returns the view as one topic, or nil for a greeting.
func (v *view) unit() *topic {
	t := &topic{work: len(v.calls) > 0 || len(memoryrules.Asks(v.sentences)) > 0}
	talk := t.work
	for _, s := range v.sentences {
		found := memoryrules.Terms(s.Text)
		t.terms = append(t.terms, found...)
		if s.Role == "user" && !s.Greeting && len(found) > 0 {
			talk, t.work = true, t.work || s.Imperative || s.Ordered
		}
	}
	t.terms = append(t.terms, memoryrules.Terms(strings.Join(toolNames(v.calls), " "))...)
	t.indices = memoryrules.Each(v.messages, func(m prompt.Message) int { return m.Index })
	if !talk {
		return nil
	}
	return t
}

// ranges returns the messages of a view as inclusive ranges of their indices.
func (v *view) ranges() [][]int {
	var out [][]int
	for i, m := range v.messages {
		if i > 0 && v.messages[i-1].Index == m.Index-1 {
			out[len(out)-1][1] = m.Index
			continue
		}
		out = append(out, []int{m.Index, m.Index})
	}
	return out
}
