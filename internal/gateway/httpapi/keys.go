package httpapi

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

	"cairn/internal/adapter/postgres"
	"cairn/internal/domain/fault"
)

// Scope is what a key may do.
type Scope string

const (
	Read  Scope = "read"  // look
	Write Scope = "write" // change, and look
	Admin Scope = "admin" // decide what waits for approval, and all the rest
)

// allows tells whether a key with the given scopes may do what s stands for.
func (s Scope) allows(scopes []string) bool {
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
	keysKept  = 10_000 // in memory
)

// Keys makes API keys and finds out who they speak for. Keys are compared by
// their hashes, in an index: how long that takes tells nothing about a key.
type Keys struct {
	Store *postgres.Store

	mu    sync.Mutex
	known map[postgres.KeyHash]known
}

type known struct {
	postgres.Principal
	until time.Time
}

// Create makes a key and returns it; nobody can show it again.
func (k *Keys) Create(ctx context.Context, ws int64, name string, scopes []Scope) (key string, made postgres.Key, err error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n == 0 || n > 100 {
		return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("a key's name has 1 to 100 characters, this one has %d", n), "name it after who will use it")
	}
	made = postgres.Key{Name: name}
	for _, s := range scopes {
		if s != Read && s != Write && s != Admin {
			return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no scope %q", s), "use read, write or admin")
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
	err = k.Store.InWorkspace(ctx, ws, func(ctx context.Context, q postgres.Tx) error {
		made, err = q.Keys().PutKey(ctx, made, sha256.Sum256([]byte(key)))
		return err
	})
	return key, made, err
}

// List lists a workspace's keys.
func (k *Keys) List(ctx context.Context, ws int64) (out []postgres.Key, err error) {
	err = k.Store.InWorkspace(ctx, ws, func(ctx context.Context, q postgres.Tx) error {
		out, err = q.Keys().Keys(ctx)
		return err
	})
	return out, err
}

// Revoke ends a key. Gateways notice within keyMemory.
func (k *Keys) Revoke(ctx context.Context, ws, id int64) error {
	return k.Store.InWorkspace(ctx, ws, func(ctx context.Context, q postgres.Tx) error { return q.Keys().RevokeKey(ctx, id) })
}

// Principal finds who a key speaks for; NotFound for a key that is no good.
func (k *Keys) Principal(ctx context.Context, key string) (postgres.Principal, error) {
	if !strings.HasPrefix(key, keyPrefix) || len(key) != len(keyPrefix)+base64.RawURLEncoding.EncodedLen(keyBytes) {
		return postgres.Principal{}, fault.New(fault.NotFound, "this is no key", "")
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

func (k *Keys) remembered(hash postgres.KeyHash) (postgres.Principal, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.known[hash]
	return h.Principal, ok && time.Now().Before(h.until)
}

func (k *Keys) remember(hash postgres.KeyHash, h known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= keysKept {
		k.known = map[postgres.KeyHash]known{}
	}
	k.known[hash] = h
}
