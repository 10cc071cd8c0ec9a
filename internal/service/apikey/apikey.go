// Package apikey creates API keys and authenticates requests by them. It stores only the hashes of keys.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/tenancy"
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
	return has(Admin) || has(s) || s == Read && has(Write)
}

const (
	keyPrefix = "cairn_" // lets people and secret scanners recognize a key
	keyBytes  = 32       // random bytes: a key cannot be guessed, so an unsalted hash is enough
	hintChars = 12
	// keyMemory is the time for which a looked-up key is cached. A revoked key may still work for
	// this long.
	keyMemory = 3 * time.Second
	kept      = 10_000 // maximum number of cached keys
)

// Key is the visible part of an API key. Of the key itself it has only the hint.
type Key struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Hint      string     `json:"hint"` // first characters, to distinguish keys
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// Hash is the SHA-256 hash of a key, the only stored form.
type Hash = [sha256.Size]byte

// Principal is the workspace and the scopes of a key.
type Principal struct {
	Workspace tenancy.Workspace
	Key       int64
	Scopes    []string
}

// Store stores the hashes of keys.
type Store interface {
	// PutKey stores the hash of a new key and sets the ID and time of k.
	PutKey(ctx context.Context, ws int64, k Key, hash Hash) (Key, error)
	// Keys returns the keys of a workspace in order of creation, including revoked ones.
	Keys(ctx context.Context, ws int64) ([]Key, error)
	// RevokeKey revokes a key. It returns NotFound if the key is unknown or already revoked.
	RevokeKey(ctx context.Context, ws, id int64) error
	// Principal returns the principal of a key. It returns NotFound if the key is unknown or revoked.
	Principal(ctx context.Context, hash Hash) (Principal, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store Store
}

// Service creates and checks API keys. It looks keys up by hash in an index, so that the duration
// reveals nothing about a key.
type Service struct {
	Ports

	mu    sync.Mutex
	known map[Hash]known
}

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("apikey", map[string]any{"Store": p.Store})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

type known struct {
	Principal
	until time.Time
}

// Create stores a new key and returns it. The key cannot be displayed again.
func (k *Service) Create(ctx context.Context, ws int64, name string, scopes []Scope) (key string, made Key, err error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n == 0 || n > 100 {
		return "", made, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid key name: %d characters", n), "use 1 to 100 characters, for example \"mobile app\"")
	}
	made = Key{Name: name}
	for _, s := range scopes {
		if s != Read && s != Write && s != Admin {
			return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid scope %q", s),
				"use read, write or admin")
		}
		if !slices.Contains(made.Scopes, string(s)) {
			made.Scopes = append(made.Scopes, string(s))
		}
	}
	if len(made.Scopes) == 0 {
		return "", made, fault.New(fault.InvalidArgument, "missing scope", "use read, write or admin")
	}
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand aborts the process instead
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(random)
	made.Hint = key[:hintChars]
	made, err = k.Store.PutKey(ctx, ws, made, sha256.Sum256([]byte(key)))
	return key, made, err
}

// List returns the keys of a workspace.
func (k *Service) List(ctx context.Context, ws int64) ([]Key, error) {
	return k.Store.Keys(ctx, ws)
}

// Revoke revokes a key. Other processes notice it within keyMemory.
func (k *Service) Revoke(ctx context.Context, ws, id int64) error {
	return k.Store.RevokeKey(ctx, ws, id)
}

// Principal returns the principal of a key. It returns NotFound if the key is invalid.
func (k *Service) Principal(ctx context.Context, key string) (Principal, error) {
	if !strings.HasPrefix(key, keyPrefix) || len(key) != len(keyPrefix)+base64.RawURLEncoding.EncodedLen(keyBytes) {
		return Principal{}, fault.New(fault.NotFound, "invalid API key", "")
	}
	hash := sha256.Sum256([]byte(key))
	if h, ok := k.remembered(hash); ok {
		return h, nil
	}
	asked := time.Now() // before the lookup, so that a key revoked in the meantime is not cached for longer
	h, err := k.Store.Principal(ctx, hash)
	if err == nil {
		k.remember(hash, known{h, asked.Add(keyMemory)})
	}
	return h, err
}

func (k *Service) remembered(hash Hash) (Principal, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.known[hash]
	return h.Principal, ok && time.Now().Before(h.until)
}

func (k *Service) remember(hash Hash, h known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= kept {
		k.known = map[Hash]known{}
	}
	k.known[hash] = h
}
