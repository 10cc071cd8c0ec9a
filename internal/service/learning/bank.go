package learning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
)

// DefaultBank is the one that memories are built with unless told otherwise.
const DefaultBank = "default"

// Kinds of blobs.
const (
	policyBlob    = "policy"
	optimiserBlob = "optimiser"
)

// What led to a version.
const (
	Seeded     = "seed"
	Imported   = "import"
	Evolved    = "evolve"
	Trained    = "train"
	Learnt     = "adapt" // from live decisions
	RolledBack = "rollback"
)

// BankRow is a bank and the number of its version in force.
type BankRow struct {
	ID   int64
	Name string
	Head int
}

// Version is a bank's row: what stood together at one time.
type Version struct {
	Number    int       `json:"number"`
	Parent    int       `json:"parent,omitempty"`
	Action    string    `json:"action"`
	BankSHA   string    `json:"bank"`
	Capacity  int       `json:"capacity"`
	Members   []string  `json:"skills"`
	Fresh     []string  `json:"fresh,omitempty"`
	Policy    string    `json:"policy"`
	Optimiser string    `json:"optimiser"`
	Snapshot  string    `json:"snapshot"`
	Reason    string    `json:"reason,omitempty"`
	Run       int64     `json:"run,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// BankSummary is a bank as lists show it.
type BankSummary struct {
	Name      string    `json:"name"`
	Version   int       `json:"version"`
	Skills    int       `json:"skills"`
	Action    string    `json:"action"`
	Snapshot  string    `json:"snapshot"`
	OpenCases int       `json:"open_cases"`
	CreatedAt time.Time `json:"created_at"`
}

// Head is a version with its parts, verified against each other.
type Head struct {
	BankRow
	Version   Version
	Bank      memoryskill.Bank
	Policy    policy.Policy
	Optimiser policy.Adam
	Stats     map[string]memoryskill.Stats // of its skills, by version id; only At reads them
}

// Snapshot binds the parts.
func (h Head) Snapshot() memoryskill.Snapshot { return memoryskill.Bind(h.Bank, h.Policy, h.Optimiser) }

// Bank reads a bank in force; the default one is seeded when it is not there.
func (s *Service) Bank(ctx context.Context, ws int64, name string) (out Head, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		out, err = s.bank(ctx, tx, name)
		return err
	})
	return out, err
}

func (s *Service) bank(ctx context.Context, tx Tx, name string) (Head, error) {
	row, found, err := tx.Banks().BankNamed(ctx, name)
	if err != nil {
		return Head{}, err
	}
	if found && row.Head > 0 {
		return s.at(ctx, tx, row, row.Head)
	}
	if name != DefaultBank {
		return Head{}, fault.New(fault.NotFound, fmt.Sprintf("there is no bank %q", name), "`cairn bank list` shows them; import one under this name")
	}
	return s.seed(ctx, tx, name)
}

// seed makes a bank of the primitives with a policy that has not learnt yet. Its
// weights are drawn for the bank's name, so that equal banks begin equal.
func (s *Service) seed(ctx context.Context, tx Tx, name string) (Head, error) {
	row, err := tx.Banks().PutBank(ctx, name) // locks the row until the end: who comes later finds the version
	if err != nil || row.Head > 0 {
		if err != nil {
			return Head{}, err
		}
		return s.at(ctx, tx, row, row.Head)
	}
	b, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	if err != nil {
		return Head{}, err
	}
	p, err := s.fresh(memoryskill.TargetRecipe, name, policy.Shape{})
	if err != nil {
		return Head{}, err
	}
	return s.advance(ctx, tx, row, Draft{Action: Seeded, Bank: b, Policy: p, Reason: "four primitives"})
}

// fresh is a policy that has not learnt anything and fuses memories as like does.
// One that is in force keeps the shape that it has.
func (s *Service) fresh(recipe, key string, like policy.Shape) (policy.Policy, error) {
	r, err := memoryskill.NewRecipe(recipe)
	if err != nil {
		return policy.Policy{}, err
	}
	shape := r.Shape(min(memoryskill.PolicyDims, s.Embedder.Dims()), memoryskill.PolicyHidden)
	shape.Fuse, shape.Temperature = like.Fuse, like.Temperature
	return policy.NewPolicy(shape, keyedrand.Key{Run: key})
}

// at reads a version and checks that its parts are those that were bound.
func (s *Service) at(ctx context.Context, tx BankTx, row BankRow, number int) (out Head, err error) {
	v, err := tx.Banks().BankVersion(ctx, row.ID, number)
	if err != nil {
		return out, err
	}
	return s.load(ctx, tx, row, v)
}

func (s *Service) load(ctx context.Context, tx BankTx, row BankRow, v Version) (out Head, err error) {
	out = Head{BankRow: row, Version: v}
	members, err := tx.BankContents().MemorySkills(ctx, v.Members)
	if err != nil {
		return out, err
	}
	if out.Bank, err = memoryskill.NewBank(v.Capacity, members...); err != nil {
		return out, fmt.Errorf("bank %s version %d: %w", row.Name, v.Number, err)
	}
	if out.Policy, out.Optimiser, err = weights(ctx, tx, v.Policy, v.Optimiser); err != nil {
		return out, fmt.Errorf("bank %s version %d: %w", row.Name, v.Number, err)
	}
	bound := memoryskill.Snapshot{Hash: v.Snapshot, Bank: v.BankSHA, Policy: v.Policy, Optimiser: v.Optimiser}
	return out, bound.Verify(out.Bank, out.Policy, out.Optimiser)
}

func weights(ctx context.Context, tx BankTx, current, optimiser string) (p policy.Policy, o policy.Adam, err error) {
	blob, err := tx.BankContents().Blob(ctx, policyBlob, current)
	if err != nil {
		return p, o, err
	}
	if p, err = policy.ParsePolicy(blob); err != nil {
		return p, o, err
	}
	if blob, err = tx.BankContents().Blob(ctx, optimiserBlob, optimiser); err != nil {
		return p, o, err
	}
	o, err = policy.ParseAdam(blob)
	return p, o, err
}

func keepWeights(ctx context.Context, tx BankTx, p policy.Policy, o policy.Adam) error {
	if err := tx.BankContents().PutBlob(ctx, policyBlob, p.Hash(), p.Blob()); err != nil {
		return err
	}
	return tx.BankContents().PutBlob(ctx, optimiserBlob, o.Hash(), o.Blob())
}

// Draft is a version to be: made on Base, which must be in force still.
type Draft struct {
	Base      int
	Action    string
	Bank      memoryskill.Bank
	Policy    policy.Policy
	Optimiser policy.Adam
	Fresh     []string
	Reason    string
	Run       int64
}

// advance writes a version and moves the head to it, or says that the bank has
// moved on. All three parts move, or none does.
func (s *Service) advance(ctx context.Context, tx BankTx, row BankRow, d Draft) (Head, error) {
	last, err := tx.Banks().LastVersion(ctx, row.ID)
	if err != nil {
		return Head{}, err
	}
	snapshot := memoryskill.Bind(d.Bank, d.Policy, d.Optimiser)
	v := Version{Number: last + 1, Parent: d.Base, Action: d.Action, BankSHA: snapshot.Bank, Capacity: d.Bank.Capacity(), Fresh: d.Fresh, Policy: snapshot.Policy, Optimiser: snapshot.Optimiser,
		Snapshot: snapshot.Hash, Reason: d.Reason, Run: d.Run}
	for _, one := range d.Bank.Versions() {
		v.Members = append(v.Members, one.ID)
	}
	if err := tx.BankContents().PutMemorySkills(ctx, d.Bank.Versions()); err != nil {
		return Head{}, err
	}
	if err := keepWeights(ctx, tx, d.Policy, d.Optimiser); err != nil {
		return Head{}, err
	}
	moved, err := tx.Banks().AdvanceBank(ctx, row.ID, d.Base, v.Number)
	if err != nil {
		return Head{}, err
	}
	if !moved {
		return Head{}, fault.New(fault.VersionConflict, fmt.Sprintf("bank %q has moved on from version %d", row.Name, d.Base), "look at the version in force, and try again on it")
	}
	if err := tx.BankContents().PutBankVersion(ctx, row.ID, v); err != nil {
		return Head{}, err
	}
	row.Head = v.Number
	return s.at(ctx, tx, row, v.Number)
}

// Banks lists the banks of a workspace.
func (s *Service) Banks(ctx context.Context, ws int64) (out []BankSummary, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		if _, err := s.bank(ctx, tx, DefaultBank); err != nil {
			return err
		}
		out, err = tx.Banks().Banks(ctx)
		return err
	})
	return out, err
}

// At reads a version of a bank; number 0 is the one in force.
func (s *Service) At(ctx context.Context, ws int64, name string, number int) (out Head, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		if out, err = s.bank(ctx, tx, name); err == nil && number != 0 && number != out.Head {
			out, err = s.at(ctx, tx, out.BankRow, number)
		}
		if err == nil {
			out.Stats, err = tx.BankContents().SkillStats(ctx, out.ID)
		}
		return err
	})
	return out, err
}

// History lists the versions of a bank, the newest first.
func (s *Service) History(ctx context.Context, ws int64, name string, most int) (out []Version, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		h, err := s.bank(ctx, tx, name)
		if err == nil {
			out, err = tx.Banks().BankVersions(ctx, h.ID, most)
		}
		return err
	})
	return out, err
}

// Rollback goes back to what an earlier version was: bank, policy and optimiser.
func (s *Service) Rollback(ctx context.Context, ws int64, name string, to int) (out Head, err error) {
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		before, err := s.at(ctx, tx, now.BankRow, to)
		if err != nil {
			return err
		}
		if before.Version.Snapshot == now.Version.Snapshot {
			out = now // there already, such as after a retry
			return nil
		}
		out, err = s.advance(ctx, tx, now.BankRow, Draft{Base: now.Head, Action: RolledBack, Bank: before.Bank, Policy: before.Policy, Optimiser: before.Optimiser, Reason: fmt.Sprintf("back to version %d", to)})
		return err
	})
	return out, err
}

// Import reads skills into a bank, which is made when it is not there. A new one
// that says what another says is refused: who means that one gives its name.
func (s *Service) Import(ctx context.Context, ws int64, name string, files map[string][]byte) (out Head, err error) {
	if err := s.made(ctx, ws, name); err != nil {
		return out, err
	}
	vectors, err := s.described(ctx, ws, name, files)
	if err != nil {
		return out, err
	}
	err = s.write(ctx, ws, name, "cairn bank", func(ctx context.Context, tx Tx, now Head) error {
		after, err := now.Bank.Import(files, "import")
		if f := fault.From(err); f != nil {
			return fault.New(f.Code, "the files cannot be read in: "+strings.ReplaceAll(err.Error(), "\n", "; "), f.Hint)
		}
		if after.Hash() == now.Bank.Hash() {
			out = now
			return nil
		}
		changes := memoryskill.Differences(now.Bank, after)
		if err := distinct(after, changes, vectors); err != nil {
			return err
		}
		out, err = s.advance(ctx, tx, now.BankRow, Draft{Base: now.Head, Action: Imported, Bank: after, Policy: now.Policy, Optimiser: now.Optimiser, Fresh: memoryskill.Fresh(changes, false), Reason: fmt.Sprintf("%d skills", len(changes))})
		return err
	})
	return out, err
}

// described are the vectors of what a bank's skills, and those that are to be read
// into it, say of themselves, by that text.
func (s *Service) described(ctx context.Context, ws int64, name string, files map[string][]byte) (map[string][]float64, error) {
	now, err := s.Bank(ctx, ws, name)
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
	found, err := s.embed(ctx, texts)
	out := map[string][]float64{}
	for i, v := range found {
		out[texts[i]] = policy.Fold(v, s.Embedder.Dims())
	}
	return out, err
}

// distinct refuses added skills that say what another one of the bank says.
func distinct(b memoryskill.Bank, changes []memoryskill.Difference, described map[string][]float64) error {
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

// write runs fn as the bank's one writer, in one transaction.
func (s *Service) write(ctx context.Context, ws int64, name, holder string, fn func(context.Context, Tx, Head) error) error {
	return s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		now, err := s.bank(ctx, tx, name)
		if err != nil {
			return err
		}
		lease, err := s.take(ctx, tx, name, holder, time.Minute)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx, now); err != nil {
			return err
		}
		return tx.Leases().FreeLease(ctx, scopeOf(name), lease)
	})
}

// scopeOf is a bank among the things that have one writer at a time.
func scopeOf(name string) memory.Scope { return memory.Scope{Type: "bank", Target: name} }

// freshIn are those of ids that a bank still has.
func freshIn(b memoryskill.Bank, ids []string) (out []string) {
	for _, v := range b.Versions() {
		if slices.Contains(ids, v.ID) {
			out = append(out, v.ID)
		}
	}
	return out
}
