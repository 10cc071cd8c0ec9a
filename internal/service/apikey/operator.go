package apikey

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
)

// operatorPrefix distinguishes operator keys from the keys of workspaces, which have another length.
const operatorPrefix = "cairn_op_"

// CreateOperator stores a new operator key and returns it. The key cannot be displayed again. It does
// not expire if expires is nil. No gateway calls it: the holder of a workspace's key must not be able
// to make one.
func (k *Service) CreateOperator(ctx context.Context, name string, scopes []access.Scope,
	expires *time.Time) (key string,
	made access.Key, err error) {
	if made, err = describe(name, scopes, expires, access.Codec, access.Metrics, access.Support); err != nil {
		return "", made, err
	}
	key = generate(operatorPrefix)
	made.Hint = key[:len(operatorPrefix)+hintChars-len(keyPrefix)]
	if made, err = k.Operators.PutOperatorKey(ctx, made, sha256.Sum256([]byte(key))); err != nil {
		return "", made, err
	}
	return key, made, nil
}

// ListOperators returns the operator keys.
func (k *Service) ListOperators(ctx context.Context) ([]access.Key, error) {
	return k.Operators.OperatorKeys(ctx)
}

// RevokeOperator revokes an operator key. Other processes notice it within keyMemory.
func (k *Service) RevokeOperator(ctx context.Context, id int64) error {
	return k.Operators.RevokeOperatorKey(ctx, id)
}

// IsOperator reports whether a key has the form of an operator key.
func IsOperator(key string) bool { return wellFormed(key, operatorPrefix) }

// Operator returns the holder of an operator key. It returns NotFound if the key is invalid, whether it
// is unknown, revoked, expired or the key of a workspace.
func (k *Service) Operator(ctx context.Context, key string) (access.Operator, error) {
	if !IsOperator(key) {
		return access.Operator{}, fault.New(fault.NotFound, "invalid operator key",
			"create a key with `cairn keys create --operator`")
	}
	return k.operators.find(sha256.Sum256([]byte(key)), func(hash access.KeyHash) (access.Operator, access.KeyUsage,
		error) {
		o, u, err := k.Operators.Operator(ctx, hash)
		if err == nil && u.Idle {
			k.uses.record(ctx, func(ctx context.Context) error { return k.Operators.UseOperatorKey(ctx, o.Key) })
		}
		return o, u, err
	})
}
