package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Finish numbers the messages of the conversations of one input and sets the IDs of the
// conversations. The input's name and the places of messages do not change the IDs.
func Finish(conversations []Conversation) {
	seen := map[string]int{}
	for i := range conversations {
		messages := conversations[i].Messages
		for k := range messages {
			messages[k].Seq = k
		}
		conversations[i].ID = identify(messages, seen)
	}
}

// identify derives a conversation's ID from its messages only, so that a copy under another file
// name has the same ID. A repetition within one input has its own ID, which includes its count.
func identify(messages []Message, seen map[string]int) string {
	hash := sha256.New()
	hash.Write([]byte("["))
	for i, m := range messages {
		m.Place = nil
		one, err := json.Marshal(m)
		if err != nil { // a time outside years 0–9999, which ParseTime rejects
			one = fmt.Appendf(nil, "%#v", m)
		}
		if i > 0 {
			hash.Write([]byte(","))
		}
		hash.Write(one)
	}
	hash.Write([]byte("]"))
	id := hex.EncodeToString(hash.Sum(nil))[:idLength]
	seen[id]++
	if n := seen[id]; n > 1 {
		return shortHash(fmt.Appendf(nil, "%s\n#%d", id, n))
	}
	return id
}

// idLength is in hex digits. 128 bits make a collision improbable.
const idLength = 32

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:idLength]
}
