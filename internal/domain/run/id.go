package run

import (
	"crypto/rand"
	"fmt"

	"cairn/internal/domain/fault"
)

// The alphabet of IDs is Crockford's base 32 in lower case: digits and letters without i, l, o and u,
// which are easily mistaken for others.
const (
	idPrefix   = "run_"
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	idRandom   = 26 // characters of 5 bits each
)

// NewID returns the ID of a new run: run_ and 26 random characters, which are 130 bits. It says
// nothing about other runs, and it cannot be guessed. It is called where a row is inserted, never in
// a workflow.
func NewID() string {
	raw := make([]byte, idRandom)
	rand.Read(raw) // never fails
	id := make([]byte, 0, len(idPrefix)+idRandom)
	id = append(id, idPrefix...)
	for _, b := range raw {
		id = append(id, idAlphabet[b%byte(len(idAlphabet))]) // 256 is a multiple of 32: no character is preferred
	}
	return string(id)
}

// ValidID reports whether id has the form of a run's ID.
func ValidID(id string) bool {
	if len(id) != len(idPrefix)+idRandom || id[:len(idPrefix)] != idPrefix {
		return false
	}
	for i := len(idPrefix); i < len(id); i++ {
		if !isIDCharacter(id[i]) {
			return false
		}
	}
	return true
}

// CheckID returns an error for the caller of a request if id does not have the form of a run's ID.
func CheckID(id string) error {
	if ValidID(id) {
		return nil
	}
	return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid run ID %.64q", id),
		"use an ID from `cairn runs list`, such as run_0h3xk9m2p7q4r8s1t5v6w0y3zd")
}

func isIDCharacter(c byte) bool {
	switch c {
	case 'i', 'l', 'o', 'u':
		return false
	}
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}
