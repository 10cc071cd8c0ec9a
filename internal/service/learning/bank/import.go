package bank

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Import adds skills to a bank and creates the bank if needed. A new skill whose description
// duplicates another skill is refused. To replace that skill, use its name.
func (s *Service) Import(ctx context.Context, ws int64, name string, files map[string][]byte) (out Head, err error) {
	if err := memoryskill.CheckFiles(files); err != nil { // before the bank is made
		return out, unreadable(err)
	}
	if err := s.ensure(ctx, ws, name); err != nil {
		return out, err
	}
	vectors, err := s.describe(ctx, ws, name, files)
	if err != nil {
		return out, err
	}
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		after, err := now.Bank.Import(files, "import")
		if err != nil {
			return unreadable(err)
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
			Policy: now.Policy, Optimizer: now.Optimizer, Fresh: memoryskill.Fresh(changes, false),
			Reason: fmt.Sprintf("%d skills", len(changes))})
		if err != nil {
			return err
		}
		return tx.Audit().Record(ctx, audit.BankImport, fmt.Sprintf("bank %d, %d skills", now.ID, len(changes)))
	})
	return out, err
}

// unreadable describes errors of files.
func unreadable(err error) error {
	f := fault.From(err)
	return fault.New(f.Code, "cannot import the files: "+strings.ReplaceAll(err.Error(), "\n", "; "), f.Hint)
}

// describe returns the vectors of the descriptions of the bank's skills and of the files, by
// description.
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
		if one, err := memoryskill.Parse(file); err == nil { // Import reports the errors of other files
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

// checkDistinct rejects added skills whose description duplicates another skill.
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
