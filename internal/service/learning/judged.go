package learning

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// MemoryUse is a memory that a run was shown, with a decision behind it: one of those
// that wrote it until then. It is empty where no memory skill has.
type MemoryUse struct {
	Memory   string // its id
	Decision string
	Content  string // what it said after that decision; the last one is what was shown
}

// FromPraise is where the outcome of a decision comes from when an answer was
// good; others have the source of the case.
const FromPraise = "praise"

// judgement is what somebody says of an answer.
type judgement struct {
	op       string // it counts once
	source   string
	run      int64 // that answered; 0 when it is not known
	score    float64
	question string
	answer   string
}

// recordJudgement counts what somebody says of an answer, 0 or 1, for the skills behind the
// memories that it was given from: each decision once, however many of its memories
// were met. For the decisions behind what the answer cites it is an outcome that
// their policy may learn from. An answer that an endpoint's failure cut off is
// nobody's doing.
func (s *Service) recordJudgement(ctx context.Context, tx Tx, j judgement) error {
	if j.run == 0 {
		return nil
	}
	answered, err := tx.Runs().Run(ctx, j.run)
	if err != nil || answered.Outcome == run.Failed {
		return err
	}
	met, err := tx.Decisions().MemoryUse(ctx, j.run)
	if err != nil {
		return err
	}
	if err := tx.Outcomes().PutOutcomes(ctx, cited(met, j.question, j.answer), Outcome{Op: j.op, Run: j.run, Source: j.source, Score: j.score}); err != nil {
		return err
	}
	var decisions []string
	for _, m := range met {
		decisions = append(decisions, m.Decision)
	}
	return s.scored(ctx, tx, decisions, j.score)
}

// scored counts a score for the skills that decisions chose, once for each decision.
func (s *Service) scored(ctx context.Context, tx Tx, ids []string, score float64) error {
	decisions := map[int64][]policy.Decision{} // by bank
	query := policy.Query{Score: score, Scored: true}
	for _, id := range ids {
		if id == "" || slices.Contains(query.Retrieved, id) {
			continue
		}
		d, found, err := tx.Decisions().DecisionAt(ctx, id)
		if err != nil {
			return err
		}
		if found {
			query.Retrieved = append(query.Retrieved, d.ID)
			decisions[d.Bank] = append(decisions[d.Bank], d.Choice.Decision)
		}
	}
	for _, bank := range slices.Sorted(maps.Keys(decisions)) {
		episode := policy.Episode{Decisions: decisions[bank], Queries: []policy.Query{query}}
		err := s.observe(ctx, tx, bank, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
			return memoryskill.Scored(stats, []policy.Episode{episode}, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cited are the decisions behind the memories that an answer names, or takes words
// from that the question did not have; behind all that were shown when it does so
// with none.
func cited(met []MemoryUse, question, answer string) (decisions []string) {
	said := map[string]bool{} // that the answer adds to the question
	for _, w := range lexical.Words(answer) {
		said[w] = !lexical.IsStopword(w)
	}
	for _, w := range lexical.Words(question) {
		said[w] = false
	}
	shown := map[string]string{} // by memory
	for _, m := range met {
		shown[m.Memory] = m.Content
	}
	cites := map[string]bool{}
	for id, content := range shown {
		cites[id] = strings.Contains(answer, id) || slices.ContainsFunc(lexical.Words(content), func(w string) bool { return said[w] })
	}
	none := !slices.Contains(slices.Collect(maps.Values(cites)), true)
	for _, m := range met {
		if m.Decision != "" && (none || cites[m.Memory]) && !slices.Contains(decisions, m.Decision) {
			decisions = append(decisions, m.Decision)
		}
	}
	return decisions
}

// observe changes the statistics of a bank's skills. Who else would change them
// waits until the transaction has ended.
func (s *Service) observe(ctx context.Context, tx BankTx, bank int64, change func(map[string]memoryskill.Stats) map[string]memoryskill.Stats) error {
	row, err := tx.Banks().BankOf(ctx, bank)
	if err != nil {
		return err
	}
	if _, err := tx.Banks().PutBank(ctx, row.Name); err != nil { // locks it
		return err
	}
	stats, err := tx.BankContents().SkillStats(ctx, bank)
	if err != nil {
		return err
	}
	return tx.BankContents().PutSkillStats(ctx, bank, change(stats))
}

// used counts the choices of a build.
func (s *Service) used(ctx context.Context, tx Tx, bank int64, made []Decision) error {
	var decisions []policy.Decision
	for _, d := range made {
		if d.Outcome != nil {
			decisions = append(decisions, d.Choice.Decision)
		}
	}
	if len(decisions) == 0 {
		return nil
	}
	return s.observe(ctx, tx, bank, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
		return memoryskill.Used(stats, decisions)
	})
}
