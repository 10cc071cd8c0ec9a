package bank

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/store"
)

// PackageFile is the file of an export that has everything but the Markdown of the skills.
const PackageFile = "bank.json"

const packageFormat = "cairn-bank/1"

// Package is a version of a bank with its policy, as it is exported. Its hashes are those of the
// snapshot, so an import has exactly the same bank and policy.
type Package struct {
	Format     string                `json:"format"`
	Snapshot   memoryskill.Snapshot  `json:"snapshot"`
	Capacity   int                   `json:"capacity"`
	Skills     []memoryskill.Version `json:"skills"`
	Fresh      []string              `json:"fresh,omitempty"`
	Prompts    memoryskill.Prompts   `json:"prompts,omitempty"`
	Encoder    EncoderName           `json:"encoder"`
	Recipe     memoryskill.Recipe    `json:"recipe"` // of the last training
	Provenance Provenance            `json:"provenance"`
	Policy     []byte                `json:"policy"`    // weights
	Optimizer  []byte                `json:"optimizer"` // state of the optimizer
}

// EncoderName identifies the embeddings that a policy was trained with.
type EncoderName struct {
	Model string `json:"model"`
	Dims  int    `json:"dims"`
}

// Provenance is where a version comes from.
type Provenance struct {
	Bank      string    `json:"bank"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Updates   int       `json:"updates"` // of the policy
	History   []Origin  `json:"history"` // the version and those it is based on, the latest first
}

// Origin is one step of a provenance.
type Origin struct {
	Version   int             `json:"version"`
	Action    string          `json:"action"`
	Reason    string          `json:"reason,omitempty"`
	Snapshot  string          `json:"snapshot"`
	Options   json.RawMessage `json:"options,omitempty"` // of the learning run
	CreatedAt time.Time       `json:"created_at"`
}

// Export returns a version of a bank as files: the Markdown of each skill, and PackageFile. Number 0
// means the active version.
func (s *Service) Export(ctx context.Context, ws int64, name string, number int) (h Head, files map[string][]byte,
	err error) {
	var p Package
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if h, err = s.ReadHead(ctx, tx, name); err == nil && number != 0 && number != h.Head {
			h, err = s.ReadVersion(ctx, tx, h.BankRow, number)
		}
		if err != nil {
			return err
		}
		p, err = s.pack(ctx, tx, h)
		return err
	})
	if err != nil {
		return h, nil, err
	}
	raw, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return h, nil, fmt.Errorf("encode the package: %w", err)
	}
	files = h.Bank.Export()
	files[PackageFile] = append(raw, '\n')
	return h, files, nil
}

func (s *Service) pack(ctx context.Context, tx store.Tx, h Head) (p Package, err error) {
	p = Package{Format: packageFormat, Snapshot: h.Snapshot(), Capacity: h.Bank.Capacity(), Skills: h.Bank.Versions(),
		Fresh: h.Version.Fresh, Prompts: h.Version.Prompts, Encoder: s.encoderName(),
		Provenance: Provenance{Bank: h.Name, Version: h.Version.Number, CreatedAt: h.Version.CreatedAt,
			Updates: h.Optimizer.Steps()}}
	if p.Policy, p.Optimizer, err = s.ports.Controller.Encode(h.Policy, h.Optimizer); err != nil {
		return p, err
	}
	recipe := ""
	if p.Provenance.History, recipe, err = history(ctx, tx, h); err != nil {
		return p, err
	}
	p.Recipe, err = memoryskill.NewRecipe(recipe)
	return p, err
}

func (s *Service) encoderName() EncoderName {
	return EncoderName{Model: s.ports.Encoder.Embedder.Model(), Dims: s.ports.Encoder.Embedder.Dims()}
}

// options are the options of a learning run in an export.
type options struct {
	Recipe     string  `json:"recipe,omitempty"`
	Seed       string  `json:"seed,omitempty"`
	Score      string  `json:"score,omitempty"`
	Stages     int     `json:"stages,omitempty"`
	Iterations int     `json:"iterations,omitempty"`
	Episodes   int     `json:"episodes,omitempty"`
	Sample     float64 `json:"sample,omitempty"`
	Design     bool    `json:"design,omitempty"`
	Keeping    any     `json:"keeping,omitempty"` // division into spans, and number of skills
	Model      struct {
		Name string `json:"name"`
	} `json:"model"`
}

// history returns the versions that a version is based on, at most 100, and the recipe of the last
// training.
func history(ctx context.Context, tx store.Tx, h Head) (out []Origin, recipe string, err error) {
	const most = 100
	for v := h.Version; ; {
		one := Origin{Version: v.Number, Action: v.Action, Reason: v.Reason, Snapshot: v.Snapshot,
			CreatedAt: v.CreatedAt}
		if v.Run != "" {
			r, err := tx.Runs().Run(ctx, v.Run)
			if err != nil {
				return nil, "", err
			}
			var o options
			if err := json.Unmarshal(r.Spec, &o); err != nil {
				return nil, "", fmt.Errorf("decode the configuration of run %s: %w", v.Run, err)
			}
			if recipe == "" {
				recipe = o.Recipe
			}
			if one.Options, err = json.Marshal(o); err != nil {
				return nil, "", err
			}
		}
		out = append(out, one)
		if v.Parent == 0 || len(out) == most {
			break
		}
		if v, err = tx.Banks().BankVersion(ctx, h.ID, v.Parent); err != nil {
			return nil, "", err
		}
	}
	if recipe == "" {
		recipe = memoryskill.TargetRecipe
	}
	return out, recipe, nil
}

// contents are the checked contents of a package.
type contents struct {
	Package
	bank      memoryskill.Bank
	policy    policy.Chooser
	optimizer policy.Optimizer
}

// unpack decodes and checks a package.
func (s *Service) unpack(raw []byte) (*contents, error) {
	wrong := func(hint, format string, args ...any) error {
		return fault.New(fault.InvalidArgument, PackageFile+": "+fmt.Sprintf(format, args...), hint)
	}
	const again = "export the bank again; the file was changed"
	c := &contents{}
	if err := json.Unmarshal(raw, &c.Package); err != nil || c.Format != packageFormat {
		return nil, wrong("use the folder that `cairn bank export` has written", "not a file of format %s",
			packageFormat)
	}
	if has := s.encoderName(); c.Encoder != has {
		return nil, wrong("use the same embedding model, or import only the Markdown files (--skills-only)",
			"the policy was trained with embeddings of %.60s (%d numbers), and this program uses %s (%d)",
			c.Encoder.Model, c.Encoder.Dims, has.Model, has.Dims)
	}
	for _, v := range c.Skills {
		same, err := memoryskill.NewVersion(v.Skill, v.Parent, v.Author, v.Origin)
		if err != nil {
			return nil, err
		}
		if same.ID != v.ID || same.Content != v.Content || !slices.Contains(authors, v.Author) {
			return nil, wrong(again, "the ID of skill %.60q does not belong to its text", v.Skill.Name)
		}
	}
	if c.Capacity < 1 || c.Capacity > maxCapacity {
		return nil, wrong(again, "invalid capacity %d", c.Capacity)
	}
	var err error
	if c.bank, err = memoryskill.NewBank(c.Capacity, c.Skills...); err != nil {
		return nil, err
	}
	if err := c.Prompts.Check(); err != nil {
		return nil, err
	}
	if c.policy, c.optimizer, err = s.ports.Controller.Decode(c.Policy, c.Optimizer); err != nil {
		return nil, err
	}
	return c, c.Snapshot.Verify(c.bank, c.policy, c.optimizer)
}

// maxCapacity is the maximum capacity of an imported bank.
const maxCapacity = 1000

var authors = []memoryskill.Author{memoryskill.Seed, memoryskill.Designer, memoryskill.Human}
