// Package apikey makes API keys and finds out who they speak for.
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

// Scope is what a key may do.
type Scope string

const (
	Read  Scope = "read"  // look
	Write Scope = "write" // change, and look
	Admin Scope = "admin" // decide what waits for approval, and all the rest
)

// Allows tells whether a key with the given scopes may do what s stands for.
func (s Scope) Allows(scopes []string) bool {
	has := func(o Scope) bool { return slices.Contains(scopes, string(o)) }
	return has(Admin) || has(s) || s == Read && has(Write)
}

const (
	keyPrefix = "cairn_" // tells secret scanners, and people, what it is
	keyBytes  = 32       // random: a key cannot be guessed, so its plain hash is enough
	hintChars = 12
	// keyMemory is how long a key that was looked up is known without asking
	// again, and so the longest time that a revoked key is still good.
	keyMemory = 3 * time.Second
	kept      = 10_000 // in memory
)

// Key is an API key as it may be shown: of the key itself only the hint is left.
type Key struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Hint      string     `json:"hint"` // the first characters, to tell keys apart
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// Hash is the SHA-256 of a key: all that is stored of it.
type Hash = [sha256.Size]byte

// Principal is who a key speaks for.
type Principal struct {
	Workspace tenancy.Workspace
	Key       int64
	Scopes    []string
}

// Store keeps the hashes of keys.
type Store interface {
	// PutKey stores the hash of a new key; k's id and time are filled in.
	PutKey(ctx context.Context, ws int64, k Key, hash Hash) (Key, error)
	// Keys lists the keys of a workspace in the order of their making, revoked ones too.
	Keys(ctx context.Context, ws int64) ([]Key, error)
	// RevokeKey ends a key; NotFound for one that is unknown or has ended before.
	RevokeKey(ctx context.Context, ws, id int64) error
	// Principal finds who a key speaks for; NotFound for an unknown or revoked one.
	Principal(ctx context.Context, hash Hash) (Principal, error)
}

// Ports are what the service works with.
type Ports struct {
	Store Store
}

// Service makes API keys and finds out who they speak for. Keys are compared by
// their hashes, in an index: how long that takes tells nothing about a key.
type Service struct {
	Ports

	mu    sync.Mutex
	known map[Hash]known
}

// New makes the service. A required port that is nil is an error.
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

// Create makes a key and returns it; nobody can show it again.
func (k *Service) Create(ctx context.Context, ws int64, name string, scopes []Scope) (key string, made Key, err error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n == 0 || n > 100 {
		return "", made, fault.New(fault.InvalidArgument,
			fmt.Sprintf("a key's name has 1 to 100 characters, this one has %d", n), "name it after who will use it")
	}
	made = Key{Name: name}
	for _, s := range scopes {
		if s != Read && s != Write && s != Admin {
			return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no scope %q", s),
				"use read, write or admin")
		}
		if !slices.Contains(made.Scopes, string(s)) {
			made.Scopes = append(made.Scopes, string(s))
		}
	}
	if len(made.Scopes) == 0 {
		return "", made, fault.New(fault.InvalidArgument, "a key needs a scope", "use read, write or admin")
	}
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the program instead
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(random)
	made.Hint = key[:hintChars]
	made, err = k.Store.PutKey(ctx, ws, made, sha256.Sum256([]byte(key)))
	return key, made, err
}

// List lists a workspace's keys.
func (k *Service) List(ctx context.Context, ws int64) ([]Key, error) {
	return k.Store.Keys(ctx, ws)
}

// Revoke ends a key. Gateways notice within keyMemory.
func (k *Service) Revoke(ctx context.Context, ws, id int64) error {
	return k.Store.RevokeKey(ctx, ws, id)
}

// Principal finds who a key speaks for; NotFound for a key that is no good.
func (k *Service) Principal(ctx context.Context, key string) (Principal, error) {
	if !strings.HasPrefix(key, keyPrefix) || len(key) != len(keyPrefix)+base64.RawURLEncoding.EncodedLen(keyBytes) {
		return Principal{}, fault.New(fault.NotFound, "this is no key", "")
	}
	hash := sha256.Sum256([]byte(key))
	if h, ok := k.remembered(hash); ok {
		return h, nil
	}
	asked := time.Now() // before the look-up: a key that is revoked meanwhile is not remembered for longer
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
