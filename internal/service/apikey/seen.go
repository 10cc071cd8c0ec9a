package apikey

import "crypto/sha256"

// Seen reports whether this process has found the key valid before and still remembers it. It reads
// no database; the key may have been revoked since.
func (k *Service) Seen(key string) bool {
	hash := sha256.Sum256([]byte(key))
	k.principals.mu.Lock()
	defer k.principals.mu.Unlock()
	_, seen := k.principals.known[hash]
	return seen
}

// Forget drops a key that is no longer valid, so that Seen does not report it.
func (k *Service) Forget(key string) {
	hash := sha256.Sum256([]byte(key))
	k.principals.mu.Lock()
	defer k.principals.mu.Unlock()
	delete(k.principals.known, hash)
}
