package access

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/audit"
)

// CookieHash is the SHA-256 hash of a cookie or a code, the only stored form.
type CookieHash = [sha256.Size]byte

// Grant is the access of a cookie to one workspace.
type Grant struct {
	ID        int64
	Workspace Workspace
	Key       int64  // 0 for a sign-in link
	Account   string // who made the sign-in link, empty for a key
	Scopes    []string
	Idle      bool // no use was recorded in the last minute
}

// Acting returns a context in which the holder of the grant is recorded as the author of what is done.
func (g Grant) Acting(ctx context.Context) context.Context {
	a := audit.From(ctx)
	a.Kind, a.KeyID, a.Account, a.Console = audit.CLI, 0, g.Account, true
	if g.Key != 0 {
		a.Kind, a.KeyID, a.Account = audit.Key, g.Key, ""
	}
	return audit.With(ctx, a)
}

// Allows reports whether the grant has a scope.
func (g Grant) Allows(s Scope) bool { return s.Allows(g.Scopes) }

// ConsoleSession is a grant in a list.
type ConsoleSession struct {
	ID        int64     `json:"id"`
	Key       int64     `json:"key_id,omitempty" doc:"Number of the API key; absent for a sign-in link"`
	Name      string    `json:"name" doc:"Name of the key, or account that made the sign-in link"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"last_used_at"` // to one minute
	EndsAt    time.Time `json:"ends_at"`
}
