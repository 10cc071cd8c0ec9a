package bank

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/store"
)

// Import adds skills to a bank and creates the bank if needed. A new skill whose description
// duplicates another skill is refused. To replace that skill, use its name.
//
// With PackageFile of an export, the exported version becomes the active one, with its policy and
// prompts; changed Markdown files are changes of it. If the bank has had the version before, the
// package is left out: Rollback restores an earlier version.
func (s *Service) Import(ctx context.Context, ws int64, name string, files map[string][]byte) (out Head, err error) {
	texts := maps.Clone(files)
	delete(texts, PackageFile)
	if err := memoryskill.CheckFiles(texts); err != nil { // before the bank is made
		return out, unreadable(err)
	}
	var packed *contents
	if raw, there := files[PackageFile]; there {
		if packed, err = s.unpack(raw); err != nil {
			return out, err
		}
	}
	if err := s.ensure(ctx, ws, name); err != nil {
		return out, err
	}
	vectors, err := s.describe(ctx, ws, name, packed, texts)
	if err != nil {
		return out, err
	}
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx store.Tx, now Head) error {
		d, err := s.basis(ctx, tx, now, packed)
		if err != nil {
			return err
		}
		after, err := d.Bank.Import(texts, "import")
		if err != nil {
			return unreadable(err)
		}
		changes := memoryskill.Differences(d.Bank, after)
		if err := checkDistinct(after, changes, vectors); err != nil {
			return err
		}
		d.Bank, d.Fresh = after, append(Members(after, d.Fresh), memoryskill.Fresh(changes, false)...)
		if memoryskill.Bind(d.Bank, d.Policy, d.Optimizer) == now.Snapshot() &&
			(d.Prompts == nil || maps.Equal(*d.Prompts, now.Version.Prompts)) {
			out = now
			return nil
		}
		if d.Reason == "" {
			d.Reason = fmt.Sprintf("%d skills", len(changes))
		}
		if out, err = s.Advance(ctx, tx, now.BankRow, d); err != nil {
			return err
		}
		return tx.Operations().Record(ctx, audit.BankImport, fmt.Sprintf("bank %d, %s", now.ID, d.Reason))
	})
	return out, err
}

// basis returns the version that an import changes: the active one, or that of a package.
func (s *Service) basis(ctx context.Context, tx store.Tx, now Head, packed *contents) (Draft, error) {
	d := Draft{Base: now.Head, Action: ActionImport, Bank: now.Bank, Policy: now.Policy, Optimizer: now.Optimizer}
	if packed == nil {
		return d, nil
	}
	const allVersions = 1 << 30
	versions, err := tx.Banks().BankVersions(ctx, now.ID, 0, allVersions)
	if err != nil || slices.ContainsFunc(versions,
		func(v learning.BankVersion) bool { return v.Snapshot == packed.Snapshot.Hash }) {
		return d, err
	}
	d.Bank, d.Policy, d.Optimizer, d.Prompts, d.Fresh = packed.bank, packed.policy, packed.optimizer, &packed.Prompts,
		packed.Fresh
	d.Reason = fmt.Sprintf("bank %.64s, version %d, with its policy", packed.Provenance.Bank, packed.Provenance.Version)
	return d, nil
}

// unreadable describes errors of files.
func unreadable(err error) error {
	f := fault.From(err)
	return fault.New(f.Code, "cannot import the files: "+strings.ReplaceAll(err.Error(), "\n", "; "), f.Hint)
}

// describe returns the vectors of the descriptions of the skills of the bank, of the package and of the
// files, by description.
func (s *Service) describe(ctx context.Context, ws int64, name string, packed *contents,
	files map[string][]byte) (map[string][]float64, error) {
	now, err := s.Head(ctx, ws, name)
	if err != nil {
		return nil, err
	}
	var texts []string
	versions := now.Bank.Versions()
	if packed != nil {
		versions = append(versions, packed.bank.Versions()...)
	}
	for _, v := range versions {
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
