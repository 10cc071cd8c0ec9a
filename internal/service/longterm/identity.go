package longterm

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
)

// IdentityArgs replace who the agent is.
type IdentityArgs struct {
	Content  string `json:"content"`
	Expected *int   `json:"expected_version,omitempty"` // that it was made on; nil for any
}

// IdentityResult answers a change of the identity.
type IdentityResult struct {
	Status  string `json:"status"` // updated or unchanged
	Version int    `json:"version"`
}

// ReadIdentity reads the version in force; version 0 is none yet.
func (l *Service) ReadIdentity(ctx context.Context, a agent.Actor) (out memory.IdentityVersion, err error) {
	err = l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		out, err = tx.Identities().Identity(ctx)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read_identity_memory: %w", err)
	}
	if a.Origin != agent.OriginUser {
		out.Content = memorywrite.Sanitize("identity", fmt.Sprint(out.Version), out.Content)
	}
	return out, nil
}

// IdentityHistory lists the versions, the latest first. It is for people.
func (l *Service) IdentityHistory(ctx context.Context, a agent.Actor, max int) (out []memory.IdentityVersion,
	err error) {
	if err := memorywrite.RequirePerson(a, "the identity's history"); err != nil {
		return nil, err
	}
	err = l.Store.WithLongTerm(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		out, err = tx.Identities().IdentityHistory(ctx, max)
		return err
	})
	return out, err
}

// UpdateIdentity replaces the whole document. What stands in every prompt is not
// written while untrusted text is in view, nor when it may be an attack and
// nobody watches.
func (l *Service) UpdateIdentity(ctx context.Context, a agent.Actor, in IdentityArgs) (IdentityResult, error) {
	content, refused := memory.NormaliseIdentity(in.Content)
	if refused == nil {
		refused = mayIdentity(a, content)
	}
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "update_identity_memory", in,
		func(ctx context.Context, tx Tx) (IdentityResult, error) {
			if refused != nil {
				return IdentityResult{}, refused
			}
			g := &writing{Service: l, tx: tx, a: a, w: memorywrite.WriterFor(a, l.Space)}
			g.w.Author = a.Subject.Author
			if err := g.fenced(ctx); err != nil {
				return IdentityResult{}, err
			}
			return g.setIdentity(ctx, content, "replace", in.Expected)
		})
}

func mayIdentity(a agent.Actor, content string) error {
	risky, err := inspectAll(content)
	switch {
	case err != nil:
		return err
	case a.Tainted && a.Origin != agent.OriginUser:
		return fault.New(fault.BlockedContent,
			"untrusted text is in view, and the change may have been asked for by it", "leave the identity as it is")
	case risky && a.Origin.Autonomous():
		return fault.New(fault.BlockedContent, "the identity reads as if it gave orders to its reader",
			"describe the agent in plain statements")
	}
	return nil
}

// RollbackIdentity makes a new version that says what an old one said. It is for
// people.
func (l *Service) RollbackIdentity(ctx context.Context, a agent.Actor, in memorywrite.RollbackArgs) (IdentityResult,
	error) {
	if err := memorywrite.RequirePerson(a, "rolling the identity back"); err != nil {
		return IdentityResult{}, err
	}
	return memorywrite.Once(ctx, l.Store.WithLongTerm, a, "identity_rollback", in,
		func(ctx context.Context, tx Tx) (IdentityResult, error) {
			old := memory.IdentityVersion{}
			if in.Version != 0 {
				var err error
				if old, err = tx.Identities().IdentityAt(ctx, in.Version); err != nil {
					return IdentityResult{}, err
				}
			}
			return (&writing{Service: l, tx: tx, a: a, w: memorywrite.WriterFor(a, l.Space)}).
				setIdentity(ctx, old.Content, "rollback", in.Expected)
		})
}

func (g *writing) setIdentity(ctx context.Context, content, action string, expected *int) (IdentityResult, error) {
	head, err := g.tx.Identities().Identity(ctx)
	if err != nil {
		return IdentityResult{}, err
	}
	if expected != nil && *expected != head.Version {
		return IdentityResult{}, fault.New(fault.VersionConflict,
			fmt.Sprintf("the identity is at version %d, not %d", head.Version, *expected),
			"read the version in force, then decide again")
	}
	if content == head.Content {
		return IdentityResult{Status: memorywrite.Unchanged, Version: head.Version}, nil
	}
	version, err := g.tx.Identities().AdvanceIdentity(ctx, head.Version, content, action, g.a.Subject.History, g.w)
	return IdentityResult{Status: Updated, Version: version}, err
}
