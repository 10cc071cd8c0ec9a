package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// identify derives a conversation's id from its messages alone, so that the
// same conversation under another file name is the same conversation. A
// repetition within one input gets an id of its own, by its count.
func identify(messages []Message, seen map[string]int) string {
	canonical, err := json.Marshal(messages)
	if err != nil { // a time outside years 0–9999; parseTime lets none through
		canonical = fmt.Appendf(nil, "%#v", messages)
	}
	id := shortHash(canonical)
	seen[id]++
	if n := seen[id]; n > 1 {
		return shortHash(fmt.Appendf(canonical, "\n#%d", n))
	}
	return id
}

// idLength is in hex digits: 128 bits, where no collision is to be expected.
const idLength = 32

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:idLength]
}
