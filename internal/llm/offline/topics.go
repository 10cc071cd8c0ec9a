package offline

import (
	"slices"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const (
	cohesion  = 0.12 // share of a unit's terms that keeps it with its topic
	goingOn   = 1.2  // a conversation tends to go on: factor for the current topic
	newTopic  = 3    // content terms that a request needs to open a topic
	ownMethod = 2    // instructions that make a topic without calls a task
)

// topic is a set of messages about one thing.
type topic struct {
	messages []prompt.Message
	terms    []string
	work     bool // tools were called, something asked for or a method told
}

// topics divides a transcript by lexical cohesion. A unit is a user message
// with all that answers it. It stays with its neighbour as long as they share
// terms, tool names included; a request that shares none opens a topic or
// returns to an earlier one. Greetings belong to no topic, system messages to
// every one.
func (v *view) topics() []*view {
	var system []prompt.Message
	var units [][]prompt.Message
	for _, m := range v.raw {
		switch {
		case m.Role == "system":
			system = append(system, m)
		case m.Role == "user" || len(units) == 0:
			units = append(units, []prompt.Message{m})
		default:
			units[len(units)-1] = append(units[len(units)-1], m)
		}
	}
	var topics []*topic
	current := &topic{}
	for _, unit := range units {
		part := v.over(unit)
		all, said, told, opens := part.content()
		if len(said) == 0 && len(part.calls) == 0 {
			continue // a greeting
		}
		best, most := current, notice.Share(all, current.terms)*goingOn
		for _, t := range topics {
			if s := notice.Share(all, t.terms); s > most {
				best, most = t, s
			}
		}
		if len(topics) == 0 || most < cohesion && opens && len(notice.Distinct(said, newTopic)) == newTopic {
			best = &topic{}
			topics = append(topics, best)
		}
		current = best
		current.messages = append(current.messages, unit...)
		current.terms = append(current.terms, all...)
		current.work = current.work || len(part.calls) > 0 || len(notice.Asks(part.sentences)) > 0 || told >= ownMethod
	}
	return v.tasks(topics, system)
}

// content gives a unit's terms, those that the user said, how many instructions
// were told, and whether the user asks for something.
func (v *view) content() (all, said []string, told int, opens bool) {
	opens = len(notice.Asks(v.sentences)) > 0
	for _, s := range v.sentences {
		found := notice.Terms(s.Text)
		all = append(all, found...)
		if s.Role != "user" || s.Greeting {
			continue
		}
		said = append(said, found...)
		opens = opens || s.Question || s.Imperative || s.Ordered
		if s.Imperative || s.Ordered {
			told++
		}
	}
	for _, c := range v.calls {
		all = append(all, stems(c.Words())...)
	}
	return all, said, told, opens
}

// tasks joins topics without work, and those of the same name, to others, and
// keeps the largest up to the limit, in the order they began.
func (v *view) tasks(topics []*topic, system []prompt.Message) []*view {
	worked := slices.ContainsFunc(topics, func(t *topic) bool { return t.work })
	named := map[string]*topic{}
	var kept []*topic
	var waiting []prompt.Message // talk before the first work
	for _, t := range topics {
		name := notice.Title(v.over(t.messages).learn().theme)
		switch same := named[name]; {
		case same != nil:
			same.messages = append(same.messages, t.messages...)
		case !t.work && len(kept) > 0:
			last := kept[len(kept)-1]
			last.messages = append(last.messages, t.messages...)
		case !t.work && worked:
			waiting = append(waiting, t.messages...)
		default:
			t.messages = append(waiting, t.messages...)
			named[name], kept, waiting = t, append(kept, t), nil
		}
	}
	if most := v.material.Limits["max_tasks"]; most > 0 && len(kept) > most {
		large := slices.SortedStableFunc(slices.Values(kept), func(a, b *topic) int { return len(b.messages) - len(a.messages) })
		kept = slices.DeleteFunc(kept, func(t *topic) bool { return !slices.Contains(large[:most], t) })
	}
	out := []*view{}
	for _, t := range kept {
		messages := slices.Concat(system, t.messages)
		slices.SortFunc(messages, func(a, b prompt.Message) int { return a.Index - b.Index })
		out = append(out, v.over(messages))
	}
	return out
}

// ranges lists the messages of a view as inclusive ranges of their indices.
func (v *view) ranges() []any {
	var out []any
	for i, m := range v.raw {
		if i > 0 && v.raw[i-1].Index == m.Index-1 {
			out[len(out)-1].([]any)[1] = m.Index
			continue
		}
		out = append(out, []any{m.Index, m.Index})
	}
	return out
}
