package apikey

import "crypto/sha256"

// Seen reports whether this process has found the key valid before and still remembers it. It reads
// no database; the key may have been revoked since.
func (k *Service) Seen(key string) bool {
	hash := sha256.Sum256([]byte(key))
	k.mu.Lock()
	defer k.mu.Unlock()
	_, seen := k.known[hash]
	return seen
}

// Forget drops a key that is no longer valid, so that Seen does not report it.
func (k *Service) Forget(key string) {
	hash := sha256.Sum256([]byte(key))
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, hash)
}
