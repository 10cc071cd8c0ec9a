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
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

const (
	keyPrefix = "cairn_" // lets people and secret scanners recognize a key
	keyBytes  = 32       // random bytes: a key cannot be guessed, so an unsalted hash is enough
	hintChars = 12
	// keyMemory is the time for which a looked-up key is cached. A revoked key may still work for
	// this long.
	keyMemory = 3 * time.Second
	kept      = 10_000 // maximum number of cached keys
)

// Ports are the dependencies of the service.
type Ports struct {
	Store     store.Keys
	Operators store.OperatorKeys
}

// Service creates and checks API keys. It looks keys up by hash in an index, so that the duration
// reveals nothing about a key.
type Service struct {
	Ports

	principals cache[access.Principal]
	operators  cache[access.Operator]
	uses       recorder
}

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// Close waits until the uses of keys are recorded.
func (k *Service) Close() { k.uses.wait() }

// Create stores a new key, which does not expire, and returns it. The key cannot be displayed again.
func (k *Service) Create(ctx context.Context, ws int64, name string, scopes []access.Scope) (key string,
	made access.Key, err error) {
	return k.CreateUntil(ctx, ws, name, scopes, nil)
}

// CreateUntil is Create for a key that expires, unless expires is nil.
func (k *Service) CreateUntil(ctx context.Context, ws int64, name string, scopes []access.Scope,
	expires *time.Time) (key string, made access.Key, err error) {
	if made, err = describe(name, scopes, expires, access.Read, access.Write, access.Admin); err != nil {
		return "", made, err
	}
	key = generate(keyPrefix)
	made.Hint = key[:hintChars]
	if made, err = k.Store.PutKey(ctx, ws, made, sha256.Sum256([]byte(key))); err != nil {
		return "", made, err
	}
	return key, made, nil
}

// describe checks the properties of a new key, which may have the given scopes.
func describe(name string, scopes []access.Scope, expires *time.Time, allowed ...access.Scope) (made access.Key,
	err error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n == 0 || n > 100 {
		return made, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid key name: %d characters", n), "use 1 to 100 characters, for example \"mobile app\"")
	}
	made = access.Key{Name: name, ExpiresAt: expires}
	var names []string
	for _, s := range allowed {
		names = append(names, string(s))
	}
	hint := fmt.Sprintf("use %s or %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	for _, s := range scopes {
		if !slices.Contains(allowed, s) {
			return made, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid scope %q", s), hint)
		}
		if !slices.Contains(made.Scopes, string(s)) {
			made.Scopes = append(made.Scopes, string(s))
		}
	}
	if len(made.Scopes) == 0 {
		return made, fault.New(fault.InvalidArgument, "missing scope", hint)
	}
	return made, checkExpiry(expires)
}

func checkExpiry(expires *time.Time) error {
	if expires != nil && !expires.After(time.Now()) {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("expiry %s is in the past", expires.UTC().Format(time.RFC3339)),
			"use a future date or a duration, for example 90d")
	}
	return nil
}

// generate returns a new random key.
func generate(prefix string) string {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand aborts the process instead
	return prefix + base64.RawURLEncoding.EncodeToString(random)
}

// maxOverlap is the longest time for which a rotated key still works.
const maxOverlap = 90 * 24 * time.Hour

// Rotate creates a key with the name and scopes of an active key, which expires after the overlap. An
// overlap of 0 ends the old key at once; gateways reject it within keyMemory. The new key cannot be
// displayed again. If expires is nil, it lives as long as the old one was made for.
func (k *Service) Rotate(ctx context.Context, ws, id int64, overlap time.Duration, expires *time.Time) (key string,
	made access.Key, err error) {
	if overlap < 0 || overlap > maxOverlap {
		return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid overlap %s", overlap),
			"use 0 to 90d, for example 24h")
	}
	if err := checkExpiry(expires); err != nil {
		return "", made, err
	}
	key = generate(keyPrefix)
	made, err = k.Store.RotateKey(ctx, ws, access.KeyRotation{Old: id, Overlap: overlap, ExpiresAt: expires,
		Hint: key[:hintChars], Hash: sha256.Sum256([]byte(key))})
	if err != nil {
		return "", made, err
	}
	return key, made, nil
}

// List returns the keys of a workspace.
func (k *Service) List(ctx context.Context, ws int64) ([]access.Key, error) {
	return k.Store.Keys(ctx, ws)
}

// Revoke revokes a key. Other processes notice it within keyMemory.
func (k *Service) Revoke(ctx context.Context, ws, id int64) error {
	return k.Store.RevokeKey(ctx, ws, id)
}

// Principal returns the principal of a key. It returns NotFound if the key is invalid, whether it is
// unknown, revoked or expired.
func (k *Service) Principal(ctx context.Context, key string) (access.Principal, error) {
	if !wellFormed(key, keyPrefix) {
		return access.Principal{}, fault.New(fault.NotFound, "invalid API key", "create a key with `cairn keys create`")
	}
	return k.principals.find(sha256.Sum256([]byte(key)), func(hash access.KeyHash) (access.Principal, access.KeyUsage,
		error) {
		h, u, err := k.Store.Principal(ctx, hash)
		if u.Left > 0 {
			h.ExpiresAt = time.Now().Add(u.Left).Round(time.Second)
		}
		if err == nil && u.Idle {
			k.uses.record(ctx, func(ctx context.Context) error { return k.Store.UseKey(ctx, h.Workspace.ID, h.Key) })
		}
		return h, u, err
	})
}

// Seen reports whether this process has found the key valid before and still remembers it. It reads
// no database; the key may have been revoked since.
func (k *Service) Seen(key string) bool {
	hash := sha256.Sum256([]byte(key))
	return k.principals.has(hash) || k.operators.has(hash)
}

// CreateWithin is CreateUntil for the holder of another key. The new key has no scope that the holder lacks, and
// expires no later than the holder's.
func (k *Service) CreateWithin(ctx context.Context, h access.Principal, name string, scopes []access.Scope,
	expires *time.Time) (key string, made access.Key, err error) {
	for _, s := range scopes {
		if slices.Contains([]access.Scope{access.Read, access.Write, access.Admin}, s) && !s.Allows(h.Scopes) {
			return "", made, fault.New(fault.OutOfScope, fmt.Sprintf("the key has %s, and cannot give %s",
				strings.Join(h.Scopes, ", "), s), "choose scopes that your own key has")
		}
	}
	switch {
	case h.ExpiresAt.IsZero():
	case expires == nil:
		expires = &h.ExpiresAt
	case expires.After(h.ExpiresAt):
		return "", made, fault.New(fault.OutOfScope, "the key expires earlier than the new key would",
			"use an expiry of at most "+h.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return k.CreateUntil(ctx, h.Workspace.ID, name, scopes, expires)
}

// Forget drops a key that is no longer valid, so that Seen does not report it.
func (k *Service) Forget(key string) {
	hash := sha256.Sum256([]byte(key))
	k.principals.drop(hash)
	k.operators.drop(hash)
}

func wellFormed(key, prefix string) bool {
	return strings.HasPrefix(key, prefix) && len(key) == len(prefix)+base64.RawURLEncoding.EncodedLen(keyBytes)
}
