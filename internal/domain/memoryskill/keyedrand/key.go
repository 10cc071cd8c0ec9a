package keyedrand

import (
	"crypto/sha256"
	"encoding/binary"
)

// Key identifies the purpose of a draw. Fields that do not apply are zero. Draws with equal keys
// are equal, so Purpose distinguishes uses with otherwise equal fields.
type Key struct {
	Run       string // the training run, or its seed
	Stage     int
	Iteration int
	Episode   int
	Span      int
	Skill     string // ID of the skill version, never its index in a list
	Purpose   string
}

// Stream returns the sequence of draws for the key, from its start.
func (k Key) Stream() Stream {
	var room [192]byte // longer IDs cause an allocation
	text := room[:0]
	for _, s := range [...]string{k.Run, k.Skill, k.Purpose} {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(s)))
		text = append(text, s...)
	}
	for _, n := range [...]int{k.Stage, k.Iteration, k.Episode, k.Span} {
		text = binary.LittleEndian.AppendUint64(text, uint64(n))
	}
	sum := sha256.Sum256(text)
	return Stream{
		key:  [2]uint32{binary.LittleEndian.Uint32(sum[0:]), binary.LittleEndian.Uint32(sum[4:])},
		high: [2]uint32{binary.LittleEndian.Uint32(sum[8:]), binary.LittleEndian.Uint32(sum[12:])},
	}
}
