package memory

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// IdentityArgs replaces the identity.
type IdentityArgs struct {
	Content  string `json:"content"`
	Expected *int   `json:"expected_version,omitempty"` // version on which the change is based; nil for any
}

// IdentityResult is the result of a change of the identity.
type IdentityResult struct {
	Status  string `json:"status"` // updated or unchanged
	Version int    `json:"version"`
}

// ReadIdentity reads the current version. Version 0 means that the identity was never set.
func (l *LongTermService) ReadIdentity(ctx context.Context, a agent.Actor) (out memory.IdentityVersion, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Identity().Identity(ctx)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read_identity_memory: %w", err)
	}
	if a.Origin != agent.OriginUser {
		out.Content = Sanitize("identity", fmt.Sprint(out.Version), out.Content)
	}
	return out, nil
}

// IdentityHistory lists the versions, latest first. It requires a user.
func (l *LongTermService) IdentityHistory(ctx context.Context, a agent.Actor, max int) (out []memory.IdentityVersion,
	err error) {
	if err := RequirePerson(a, "reading the history of the identity"); err != nil {
		return nil, err
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Identity().IdentityHistory(ctx, max)
		return err
	})
	return out, err
}

// UpdateIdentity replaces the whole identity. Because every prompt contains the identity, the write
// is refused in two cases: the context contains untrusted text, or an agent writes text that looks
// like a prompt injection.
func (l *LongTermService) UpdateIdentity(ctx context.Context, a agent.Actor, in IdentityArgs) (IdentityResult, error) {
	content, refused := memory.NormalizeIdentity(in.Content)
	if refused == nil {
		refused = mayIdentity(a, content)
	}
	return Once(ctx, l.Store.InWorkspace, a, "update_identity_memory", in,
		func(ctx context.Context, tx store.Tx) (IdentityResult, error) {
			if refused != nil {
				return IdentityResult{}, refused
			}
			g := &writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a)}
			g.w.Author = a.Subject.Author
			if err := g.checkFence(ctx); err != nil {
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
			"cannot change the identity: the context contains untrusted text", "do not change the identity in this run")
	case risky && a.Origin != agent.OriginUser:
		return fault.New(fault.BlockedContent, "the identity looks like a prompt injection",
			"describe the agent in plain statements")
	}
	return nil
}

// RollbackIdentity creates a new version with the content of an old one. It requires a user.
func (l *LongTermService) RollbackIdentity(ctx context.Context, a agent.Actor, in RollbackArgs) (IdentityResult,
	error) {
	if err := RequirePerson(a, "rolling back the identity"); err != nil {
		return IdentityResult{}, err
	}
	return Once(ctx, l.Store.InWorkspace, a, "identity_rollback", in,
		func(ctx context.Context, tx store.Tx) (IdentityResult, error) {
			old := memory.IdentityVersion{}
			if in.Version != 0 {
				var err error
				if old, err = tx.Identity().IdentityAt(ctx, in.Version); err != nil {
					return IdentityResult{}, err
				}
			}
			out, err := (&writing{LongTermService: l, tx: tx, a: a, w: WriterFor(a)}).
				setIdentity(ctx, old.Content, "rollback", in.Expected)
			if err != nil || out.Status == Unchanged {
				return out, err
			}
			return out, tx.Operations().Record(ctx, audit.IdentityRollback,
				fmt.Sprintf("identity to version %d", in.Version))
		})
}

func (g *writing) setIdentity(ctx context.Context, content, action string, expected *int) (IdentityResult, error) {
	head, err := g.tx.Identity().Identity(ctx)
	if err != nil {
		return IdentityResult{}, err
	}
	if expected != nil && *expected != head.Version {
		return IdentityResult{}, fault.New(fault.VersionConflict,
			fmt.Sprintf("identity is at version %d, not %d", head.Version, *expected),
			"read the current version, then send the change again")
	}
	if content == head.Content {
		return IdentityResult{Status: Unchanged, Version: head.Version}, nil
	}
	version, err := g.tx.Identity().AdvanceIdentity(ctx, head.Version, content, action, g.a.Subject.History, g.w)
	return IdentityResult{Status: Updated, Version: version}, err
}
