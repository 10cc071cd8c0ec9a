package world

import (
	"fmt"
	"slices"
	"sync"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/evaluation"
)

// Limits of the experiment.
const (
	writeShare = 0.3 // maximum share of the transcript's tokens in a store
	readTokens = 300 // maximum number of tokens of memories per question
	near       = 5   // memories in the prompt of a span
)

// chooser chooses skills for a span.
type chooser func(n int, state []float64) (policy.Decision, error)

// questionResult is the result of a question after an episode.
type questionResult struct {
	words, evidence, f1, judge float64
	judged                     bool
	read                       []string
}

// episodeResult is the result of an episode.
type episodeResult struct {
	episode   policy.Episode
	questions []questionResult
	items     []string
	words     float64 // mean answer-word recall
}

// handleNames are the handles of the memories in the prompt of a span.
var handleNames = func() (out [near]string) {
	for i := range out {
		out[i] = fmt.Sprint(executor.HandlePrefix, i)
	}
	return out
}()

var filters sync.Map // by ID of the skill version

func shownSkill(s memoryskill.Skill) prompt.MemorySkill {
	return prompt.MemorySkill{Name: s.Name, Action: string(s.Action), Description: s.Description, Purpose: s.Purpose,
		WhenToUse: s.WhenToUse, HowToApply: s.HowToApply, Constraints: s.Constraints}
}

func filterOf(v memoryskill.Version) memoryrules.Filter {
	if f, ok := filters.Load(v.ID); ok {
		return f.(memoryrules.Filter)
	}
	f := memoryrules.Compile(shownSkill(v.Skill))
	filters.Store(v.ID, f)
	return f
}

// play builds memories of a trace with the skills of a bank, starting from an empty store, and asks
// its questions.
func play(t *trace, bank memoryskill.Bank, choose chooser) (episodeResult, error) {
	return playAtOnce(t, bank, choose, 1)
}

// playAtOnce is play with several concurrent spans. Concurrent spans see the memories before the
// first of them. Their actions are merged in order.
func playAtOnce(t *trace, bank memoryskill.Bank, choose chooser, spans int) (episodeResult, error) {
	s := newStore(int(writeShare * float64(t.tokens)))
	byID := map[string]memoryskill.Version{}
	for _, v := range bank.Versions() {
		byID[v.ID] = v
	}
	var out episodeResult
	behind := map[int][]string{}
	for some := range slices.Chunk(t.spans, max(1, spans)) {
		plans := make([]plan, len(some))
		for i, sp := range some {
			closest := s.nearest(sp.vector, near)
			n := len(out.episode.Decisions)
			d, err := choose(n, t.state(sp, closest))
			if err != nil {
				return out, err
			}
			d.ID = fmt.Sprint(n)
			plans[i] = plan{span: sp, closest: closest, decision: d}
			for _, seq := range sp.seqs {
				behind[seq] = append(behind[seq], d.ID)
			}
			out.episode.Decisions = append(out.episode.Decisions, d)
		}
		var working sync.WaitGroup
		for i := range plans[1:] {
			working.Go(func() { plans[1+i].make(byID) })
		}
		plans[0].make(byID)
		working.Wait()
		s.follow(plans)
		s.fit()
	}
	out.ask(t, s, behind)
	if len(s.gone) > 0 && !out.episode.Decisions[0].Greedy { // policies do not learn from greedy decisions
		out.episode.Room = &policy.Room{Held: s.held(out.episode.Decisions), Price: price(t, s, out.words)}
	}
	return out, nil
}

func (t *trace) state(sp span, closest []*item) []float64 {
	var memories [][]float64
	for _, i := range closest {
		memories = append(memories, i.seen)
	}
	return t.shape.State(sp.seen, memories)
}

// plan contains the actions of one span.
type plan struct {
	span     span
	closest  []*item // memories in its prompt
	decision policy.Decision
	actions  []executor.ResolvedAction
}

// make creates the actions of a span with the rules, and resolves them like the executor.
func (p *plan) make(bank map[string]memoryskill.Version) {
	var obeyed []memoryrules.Filter
	var roles []executor.SelectedSkill
	for _, id := range p.decision.Chosen {
		v := bank[id]
		obeyed, roles = append(obeyed, filterOf(v)),
			append(roles, executor.SelectedSkill{Name: v.Skill.Name, Action: v.Skill.Action})
	}
	var stored []memoryrules.IndexedMemory
	handles := map[string]string{}
	for i, one := range p.closest {
		k := one.known()
		k.Handle = handleNames[i]
		stored = append(stored, k)
		handles[k.Handle] = one.id()
	}
	var actions []executor.Action
	for _, a := range memoryrules.Keep(p.span.heard, stored, obeyed) {
		actions = append(actions, executor.Action{Type: memoryskill.Action(a.Type), Target: a.Target,
			Content: a.Content, About: a.About, Kind: a.Kind, Evidence: a.Evidence, Skill: a.Skill})
	}
	p.actions = executor.Resolve(actions, roles, handles)
}

// follow applies the plans of concurrent spans.
func (s *store) follow(plans []plan) {
	var all [][]executor.ResolvedAction
	items := map[string]*item{}
	for _, p := range plans {
		all = append(all, p.actions)
		for _, i := range p.closest {
			items[i.id()] = i
		}
	}
	executor.Merge(all...)
	for _, kind := range []memoryskill.Action{memoryskill.Delete, memoryskill.Update, memoryskill.Insert} {
		for _, p := range plans {
			for _, a := range p.actions {
				if a.Outcome != executor.OK || a.Type != kind {
					continue
				}
				switch kind {
				case memoryskill.Delete:
					s.remove(items[a.Memory], p.decision.ID)
				case memoryskill.Update:
					s.rewrite(items[a.Memory], a.Content, a.Evidence, p.decision.ID)
				case memoryskill.Insert:
					s.insert(a.Content, a.Evidence, p.decision.ID)
				}
			}
		}
	}
}

// ask retrieves memories for each question and scores them.
func (p *episodeResult) ask(t *trace, s *store, behind map[int][]string) {
	r, taken := s.reader(), by(s.taken)
	for _, i := range s.items {
		p.items = append(p.items, i.content)
	}
	for _, q := range t.questions {
		one, met, read := questionResult{}, policy.Query{Scored: true}, evaluation.Bag{}
		found := r.read(q.terms, readTokens)
		for _, i := range found {
			one.read, met.Retrieved = append(one.read, i.content), append(met.Retrieved, i.decisions...)
			q.has(i, read)
		}
		held := 0
		for _, e := range q.evidence {
			var of []evaluation.Bag
			for _, i := range found {
				if slices.Contains(i.seqs, e.seq) {
					of = append(of, i.words().bag)
				}
			}
			if evaluation.Held(e.bag, of) {
				held++
			}
			met.Evidence = append(met.Evidence, behind[e.seq]...)
			for _, i := range taken[e.seq] {
				if had := (evaluation.Bag{}); q.has(i, had) && len(had.And(read)) < len(had) {
					met.Taken = append(met.Taken, i.decisions...)
				}
			}
		}
		one.words, _ = q.wanted.Share(read)
		one.evidence = float64(held) / float64(len(q.evidence))
		met.Score = one.words
		p.questions, p.episode.Queries = append(p.questions, one), append(p.episode.Queries, met)
		p.words += one.words / float64(len(t.questions))
	}
}

// has adds the words of the answer that an item contains, and reports whether there are any.
func (q question) has(i *item, words evaluation.Bag) (any bool) {
	bag := i.words().bag
	for w := range q.wanted {
		if bag[w] {
			words[w], any = true, true
		}
	}
	return any
}

// price returns the marginal value of the store's room: the expected gain in found answers per
// additional room, estimated from the items that were removed for lack of room.
func price(t *trace, s *store, found float64) float64 {
	kept, gone := by(s.items), by(s.gone)
	held, lost, n := 0.0, 0.0, float64(len(t.questions))
	for _, q := range t.questions {
		words := evaluation.Bag{}
		count := func(items map[int][]*item) int {
			for _, e := range q.evidence {
				for _, i := range items[e.seq] {
					q.has(i, words)
				}
			}
			return len(words)
		}
		here := count(kept)
		held += float64(here) / float64(len(q.wanted)) / n
		lost += float64(count(gone)-here) / float64(len(q.wanted)) / n
	}
	tokens := 0
	for _, i := range s.gone {
		tokens += i.tokens
	}
	if held == 0 || tokens == 0 {
		return 0
	}
	return lost * min(1, found/held) * float64(s.most) / float64(tokens)
}
