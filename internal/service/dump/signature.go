package dump

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
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

// imported is the channel of conversations and the origin of what a file states without a valid signature.
const imported = string(agent.OriginImport)

// distrust replaces what only a signed file can state about a memory: who wrote it, and that its text was accepted.
func (m *LoadedMemory) distrust() (quarantined bool) {
	m.Origin, m.Author = imported, ""
	for i := range m.Revisions {
		r := &m.Revisions[i]
		r.Origin, r.Author = imported, ""
		if r.Status != memory.Removed && suspicious(guard.Caution, r.Content, r.WhenToUse, r.Metadata.Text()) {
			r.Status = memory.Quarantined
		}
	}
	if m.Status == memory.Active && suspicious(guard.Caution, m.Content, m.WhenToUse, m.Metadata.Text()) {
		m.Status, quarantined = memory.Quarantined, true
	}
	return quarantined
}

// distrust is the same for a conversation: it is imported, and has no outcome from which Cairn would learn.
func (c Conversation) distrust() Conversation {
	c.Channel, c.Reward = imported, nil
	return c
}

// suspicious reports whether a text has a secret, or a finding of at least a level.
func suspicious(level guard.Severity, texts ...string) bool {
	for _, text := range texts {
		if text == "" {
			continue
		}
		verdict := guard.Verdict(guard.Scan(text, guard.Strict))
		if len(guard.Secrets(text)) > 0 || verdict == guard.Dangerous || level == guard.Caution && verdict == level {
			return true
		}
	}
	return false
}
