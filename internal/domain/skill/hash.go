package skill

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// ContentHash returns equal hashes for skills with equal name, description, body and files, in any
// order of the files. An update with the hash of the head is no change.
func ContentHash(d Document, files []File) [sha256.Size]byte {
	d = d.Normalized()
	parts := []string{d.Name, d.Description, string(RenderBody(d))}
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range sorted {
		parts = append(parts, f.Path, f.Content)
	}
	h := sha256.New()
	for _, part := range parts { // lengths first, so that different lists differ in the hash
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
