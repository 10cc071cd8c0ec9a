package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// identify derives a conversation's ID from its messages only, so that a copy under another file
// name has the same ID. A repetition within one input has its own ID, which includes its count.
func identify(messages []Message, seen map[string]int) string {
	canonical, err := json.Marshal(messages)
	if err != nil { // a time outside years 0–9999, which parseTime rejects
		canonical = fmt.Appendf(nil, "%#v", messages)
	}
	id := shortHash(canonical)
	seen[id]++
	if n := seen[id]; n > 1 {
		return shortHash(fmt.Appendf(canonical, "\n#%d", n))
	}
	return id
}

// idLength is in hex digits. 128 bits make a collision improbable.
const idLength = 32

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:idLength]
}
