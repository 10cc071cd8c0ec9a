package memoryskill

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Author is who wrote a version.
type Author string

const (
	Seed     Author = "seed"     // shipped with the program
	Designer Author = "designer" // proposed by a designer round
	Human    Author = "human"    // edited or imported by a person
)

// Version is one skill as it stood at one time. It never changes; a refinement is
// another version with this one as its parent. Statistics belong to versions.
type Version struct {
	ID      string `json:"id"` // name@hash: sorts by name, tells contents apart
	Skill   Skill  `json:"skill"`
	Content string `json:"content"`          // SHA-256 of the rendered Markdown, hexadecimal
	Parent  string `json:"parent,omitempty"` // id of the version it refines
	Author  Author `json:"author"`
	Origin  string `json:"origin,omitempty"` // the designer round or the import it came of
}

// idDigits of the hash are enough to tell versions of one name apart.
const idDigits = 16

// NewVersion checks a skill and freezes it.
func NewVersion(s Skill, parent string, author Author, origin string) (Version, error) {
	if err := Check(s); err != nil {
		return Version{}, err
	}
	s = s.Normalised()
	sum := sha256.Sum256(Render(s))
	content := hex.EncodeToString(sum[:])
	// The same words refined from another version are another version: its
	// statistics lean on another parent.
	id := digest("version", content, parent)
	return Version{ID: s.Name + "@" + id[:idDigits], Skill: s, Content: content, Parent: parent, Author: author,
		Origin: origin}, nil
}

// digest is the SHA-256 of a kind and parts, none of which can run into the next.
func digest(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
