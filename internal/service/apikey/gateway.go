package apikey

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
)

// gatewayPrefix distinguishes the keys of gateways from those of workspaces, which have another length.
const gatewayPrefix = "cairn_gw_"

// accountName is the form of the names of accounts, the same as in the file of CAIRN_CHANNELS. A slash would make the
// users of two accounts share a workspace.
var accountName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// CreateGateway stores a new key for the gateway of an account and returns it. The key cannot be displayed again. No
// gateway calls it: the holder of a workspace's key must not be able to make one.
func (k *Service) CreateGateway(ctx context.Context, name, account string, expires *time.Time) (key string,
	made access.Key,
	err error) {
	if !accountName.MatchString(account) {
		return "", made, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid account of a gateway: %.60q", account),
			"use 1 to 40 lower-case letters, digits, - and _, for example \"webui\"")
	}
	if made, err = describe(name, []access.Scope{access.Gateway}, expires, access.Gateway, access.Gateway); err != nil {
		return "", made, err
	}
	key = generate(gatewayPrefix)
	made.Account, made.Hint = account, key[:len(gatewayPrefix)+hintChars-len(keyPrefix)]
	if made, err = k.Operators.PutGatewayKey(ctx, made, sha256.Sum256([]byte(key))); err != nil {
		return "", made, err
	}
	return key, made, nil
}

// IsGateway reports whether a key has the form of the key of a gateway.
func IsGateway(key string) bool { return wellFormed(key, gatewayPrefix) }

// GatewayPrincipal returns the principal of the key of a gateway for a user. Its workspace has the ID 0 if the user is
// not known, or if person is empty. It returns NotFound if the key is invalid, and OutOfScope if the user is blocked.
func (k *Service) GatewayPrincipal(ctx context.Context, key, person string) (access.Principal, error) {
	hash := sha256.Sum256([]byte(key))
	h, err := k.principals.find(sha256.Sum256([]byte(key+"\x00"+person)), func(access.KeyHash) (access.Principal,
		access.KeyUsage, error) {
		h, u, err := k.Operators.GatewayHolder(ctx, hash, person)
		if err == nil && u.Idle {
			k.uses.record(ctx, func(ctx context.Context) error { return k.Operators.UseOperatorKey(ctx, h.Key) })
		}
		if err == nil && h.Blocked {
			err = fault.New(fault.OutOfScope, "the user is blocked", "run `cairn people list` to see all users")
		}
		return access.Principal{
			Workspace: h.Workspace,
			Key:       h.Key,
			Scopes:    []string{string(access.Read), string(access.Write), string(access.Gateway)},
			Account:   h.Account,
			Person:    person,
		}, u, err
	})
	if err == nil {
		k.principals.see(hash)
	}
	return h, err
}

// ForgetPerson drops the workspace of a user who was not known.
func (k *Service) ForgetPerson(key, person string) {
	k.principals.drop(sha256.Sum256([]byte(key + "\x00" + person)))
}
