package bank

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Import reads skills into a bank, which is made when it is not there. A new one
// that says what another says is refused: who means that one gives its name.
func (s *Service) Import(ctx context.Context, ws int64, name string, files map[string][]byte) (out Head, err error) {
	if err := s.ensure(ctx, ws, name); err != nil {
		return out, err
	}
	vectors, err := s.describe(ctx, ws, name, files)
	if err != nil {
		return out, err
	}
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		after, err := now.Bank.Import(files, "import")
		if f := fault.From(err); f != nil {
			return fault.New(f.Code, "the files cannot be read in: "+strings.ReplaceAll(err.Error(), "\n", "; "),
				f.Hint)
		}
		if after.Hash() == now.Bank.Hash() {
			out = now
			return nil
		}
		changes := memoryskill.Differences(now.Bank, after)
		if err := checkDistinct(after, changes, vectors); err != nil {
			return err
		}
		out, err = s.Advance(ctx, tx, now.Row, Draft{Base: now.Head, Action: ActionImport, Bank: after,
			Policy: now.Policy, Optimiser: now.Optimiser, Fresh: memoryskill.Fresh(changes, false),
			Reason: fmt.Sprintf("%d skills", len(changes))})
		return err
	})
	return out, err
}

// describe returns the vectors of what a bank's skills, and those that are to be read
// into it, say of themselves, by that text.
func (s *Service) describe(ctx context.Context, ws int64, name string,
	files map[string][]byte) (map[string][]float64, error) {
	now, err := s.Head(ctx, ws, name)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, v := range now.Bank.Versions() {
		texts = append(texts, v.Skill.Description)
	}
	for _, file := range files {
		if one, err := memoryskill.Parse(file); err == nil { // Import says what is wrong with the others
			texts = append(texts, one.Description)
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	found, err := s.ports.Encoder.Embed(ctx, texts)
	out := map[string][]float64{}
	for i, v := range found {
		out[texts[i]] = policy.Fold(v, s.ports.Encoder.Embedder.Dims())
	}
	return out, err
}

// checkDistinct refuses added skills that say what another one of the bank says.
func checkDistinct(b memoryskill.Bank, changes []memoryskill.Difference, described map[string][]float64) error {
	vectors := map[string][]float64{}
	for _, v := range b.Versions() {
		vectors[v.ID] = described[v.Skill.Description]
	}
	for _, d := range changes {
		if d.Kind != memoryskill.Added {
			continue
		}
		if err := memoryskill.CheckDistinct(b, d.After.Skill, vectors[d.After.ID], vectors); err != nil {
			return err
		}
	}
	return nil
}
