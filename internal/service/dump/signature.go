package dump

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Signatures of a file.
const (
	Verified = "verified" // signed by this deployment and unchanged: what the file states is kept
	Unsigned = "unsigned" // from another program, or an older version
	Invalid  = "invalid"  // changed after it was signed, or signed by another deployment
)

// keyLength is the length of the key of a signature in bytes.
const keyLength = 32

// signing returns the hash that signs the lines of a dump: HMAC-SHA256 with a key derived from the secret of the
// deployment.
func (s *Service) signing(ctx context.Context) (hash.Hash, error) {
	secret, err := s.Store.DumpSecret(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the secret of the deployment: %w", err)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "cairn memory dump 1", keyLength)
	if err != nil {
		return nil, fmt.Errorf("derive the key of dumps: %w", err)
	}
	return hmac.New(sha256.New, key), nil
}

// signature returns which signature the last line states for the lines before it.
func signature(stated string, lines hash.Hash) string {
	raw, err := hex.DecodeString(stated)
	switch {
	case stated == "":
		return Unsigned
	case err == nil && hmac.Equal(raw, lines.Sum(nil)):
		return Verified
	}
	return Invalid
}
