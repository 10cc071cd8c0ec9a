package memoryskill

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Author is the author of a version.
type Author string

const (
	Seed     Author = "seed"     // shipped with the program
	Designer Author = "designer" // proposed by a designer round
	Human    Author = "human"    // edited or imported by a person
)

// Version is an immutable version of a skill. A refinement is a new version with this one as its
// parent. Statistics belong to versions.
type Version struct {
	ID      string `json:"id"` // name@hash: sorts by name, differs by content
	Skill   Skill  `json:"skill"`
	Content string `json:"content"`          // SHA-256 of the rendered Markdown, hexadecimal
	Parent  string `json:"parent,omitempty"` // ID of the version that it refines
	Author  Author `json:"author"`
	Origin  string `json:"origin,omitempty"` // the designer round or the import that created it
}

// idDigits is the number of hash digits that distinguish the versions of a name.
const idDigits = 16

// NewVersion checks a skill and returns its version.
func NewVersion(s Skill, parent string, author Author, origin string) (Version, error) {
	if err := Check(s); err != nil {
		return Version{}, err
	}
	s = s.Normalized()
	sum := sha256.Sum256(Render(s))
	content := hex.EncodeToString(sum[:])
	// The same text with another parent is another version, because its statistics are shrunk
	// towards another parent.
	id := digest("version", content, parent)
	return Version{ID: s.Name + "@" + id[:idDigits], Skill: s, Content: content, Parent: parent, Author: author,
		Origin: origin}, nil
}

// NameOf returns the name of the skill of a version ID.
func NameOf(id string) string {
	name, _, _ := strings.Cut(id, "@")
	return name
}

// digest returns the SHA-256 of a kind and parts. Parts are delimited, so that different parts
// differ in the hash.
func digest(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
