package access

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Scope is a permission of a key.
type Scope string

const (
	Read  Scope = "read"  // read data
	Write Scope = "write" // read and change data
	Admin Scope = "admin" // approve changes, and everything else
)

// Allows reports whether a key with the given scopes has the permission s.
func (s Scope) Allows(scopes []string) bool {
	has := func(o Scope) bool { return slices.Contains(scopes, string(o)) }
	if s == Gateway { // concerns an account, not the workspace of an administrator
		return has(s)
	}
	return has(Admin) || has(s) || s == Read && has(Write)
}

// Key is the visible part of an API key. Of the key itself it has only the hint.
type Key struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Hint      string     `json:"hint"` // first characters, to distinguish keys
	Scopes    []string   `json:"scopes"`
	Account   string     `json:"account,omitempty"` // of the key of a gateway
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`   // nil means never
	UsedAt    *time.Time `json:"last_used_at,omitempty"` // to five minutes
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// KeyRotation replaces an active key by one with the same name and scopes.
type KeyRotation struct {
	Old       int64
	Overlap   time.Duration // time for which the old key still works
	ExpiresAt *time.Time    // of the new key; nil means that it lives as long as the old one was made for
	Hint      string        // of the new key
	Hash      KeyHash       // of the new key
}

// KeyUsage is what authentication needs to know about a key.
type KeyUsage struct {
	Left time.Duration // until the key expires; 0 means that it does not
	Idle bool          // no use was recorded in the last five minutes
}

// KeyHash is the SHA-256 hash of a key, the only stored form.
type KeyHash = [sha256.Size]byte

// Principal is the workspace and the scopes of a key.
type Principal struct {
	Workspace Workspace
	Key       int64
	Scopes    []string
	Account   string // of the key of a gateway; its workspace is that of the user whom the request names
	Person    string // the caller's ID of that user
	// ExpiresAt is the end of the key, zero for never.
	ExpiresAt time.Time
}

// Gateway is the scope of the keys of gateways. Their requests act for users of one account, with read and write. Only
// the command line makes them.
const Gateway Scope = "gateway"

// GatewayHolder is the account of a key, and one of its users.
type GatewayHolder struct {
	Key       int64
	Account   string
	Workspace Workspace // of the user; its ID is 0 if the user is not known
	Blocked   bool
}

// Scopes of operator keys. None contains another one.
const (
	Codec   Scope = "codec"   // encrypt and decrypt workflow payloads
	Metrics Scope = "metrics" // read the metrics of a gateway
	Support Scope = "support" // see numbers of all workspaces in the console of operators
)

// Operator is the holder of an operator key. It belongs to no workspace.
type Operator struct {
	Key    int64
	Scopes []string
}

// Allows reports whether the operator has exactly the scope s.
func (o Operator) Allows(s Scope) bool { return slices.Contains(o.Scopes, string(s)) }
