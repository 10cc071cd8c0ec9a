package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Status is where a skill stands. Active, candidate and draft skills are listed;
// only active ones are found.
type Status string

const (
	Candidate   Status = "candidate" // waits for approval
	DraftStatus Status = "draft"     // judged not good enough; a better version or an approval activates it
	Active      Status = "active"
	Stale       Status = "stale"
	Archived    Status = "archived" // keeps its name
	Quarantined Status = "quarantined"
)

// Statuses are all of them.
func Statuses() []Status {
	return []Status{Candidate, DraftStatus, Active, Stale, Archived, Quarantined}
}

// Head is a skill as lists show it: its names and the version in force.
type Head struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`               // canonical
	Category    string    `json:"category,omitempty"` // lists go by it; empty for none
	Status      Status    `json:"status"`
	Version     int       `json:"version"`
	Pinned      bool      `json:"pinned,omitempty"`
	Managed     bool      `json:"managed,omitempty"` // autonomous writers may change it
	Tainted     bool      `json:"tainted,omitempty"` // untrusted text went into it
	Origin      string    `json:"origin"`
	Description string    `json:"description"`
	Lang        string    `json:"lang"`
	Degraded    []string  `json:"degraded,omitempty"`
	PackageKey  string    `json:"package_key"`
	Eta         float32   `json:"eta"` // reliability, 0–1
	Uses        int64     `json:"uses"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// SHA is a SHA-256, written in hexadecimal digits.
type SHA [sha256.Size]byte

// MarshalText writes the digits.
func (h SHA) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads the digits.
func (h *SHA) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a SHA-256 has %d digits, this has %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// How a version came about.
const (
	OpCreate   = "create"
	OpUpdate   = "update"
	OpPatch    = "patch"
	OpRename   = "rename" // the body is as it was
	OpRollback = "rollback"
)

// Version is one full, immutable state of a skill.
type Version struct {
	SkillID       int64
	Name          string // canonical
	Number        int    // from 1
	Base          int    // the version it was made from, 0 for a creation
	DisplayName   string
	Description   string
	Category      string // empty for none
	Body          string // Markdown after the front matter
	Lang          string
	Files         []File
	ContentSHA    SHA
	PackageSHA    SHA
	PackageKey    string
	Run           int64 // 0 when no run made it
	TaskKey       string
	Origin        string
	Op            string // how it came about: OpCreate … OpRollback
	Tainted       bool   // untrusted text went into it
	ChangeSummary string
	Model         string
	PromptSHA     string
	Degraded      []string
	Violations    []string
	Risk          []string // findings of the scan, never their text
	Redactions    int      // secrets that were kept from the model
	Quality       *Quality // nil when nobody judged it
	Extra         []Extra  // what else its package holds
	Restores      int      // of a rollback: the version that it went back to
	Sources       []Source
	CreatedAt     time.Time
}

// Document reads the version's fields out of its body.
func (v Version) Document() Document {
	d := ParseBody(v.Body)
	d.Name, d.Description = v.DisplayName, v.Description
	return d
}

// Pack renders and zips the version, with what else its package holds, and notes
// the package's hash and key. The same content gives the same package, whatever
// its number.
func (v *Version) Pack(workspace int64, style string, extra ...File) (archive, markdown []byte, err error) {
	markdown = Compose(v.Name, v.Description, []byte(v.Body), RenderOptions{NameStyle: style})
	if archive, err = Zip(Folder(v.Name, style), markdown, v.Files, extra...); err != nil {
		return nil, nil, err
	}
	v.Packed(workspace, archive, style)
	return archive, markdown, nil
}

// Packed notes the hash and the key of a package that is the version's.
func (v *Version) Packed(workspace int64, archive []byte, style string) {
	v.PackageSHA = sha256.Sum256(archive)
	folder := Folder(v.Name, style)
	v.PackageKey = fmt.Sprintf("%s/%s/%x/%s.zip", PackageFolder(workspace), folder, v.PackageSHA[:6], folder)
}

// PackageFolder is the place of a workspace's packages in their store.
func PackageFolder(workspace int64) string { return fmt.Sprint(workspace) }

// SearchText is what the version is found and embedded by.
func (v Version) SearchText() string { return v.Document().SearchText() }

// firstSteps is how many lines of the procedure say what a skill is about.
const firstSteps = 5

// SearchText is name, description, when to use it, and the first lines of the
// procedure.
func (d Document) SearchText() string {
	steps := strings.SplitN(d.Procedure, "\n", firstSteps+1)
	when := strings.TrimSpace(strings.Join(d.Trigger, ", ") + "\n" + d.WhenToUse)
	return strings.Join([]string{d.Name, d.Description, when, strings.Join(steps[:min(len(steps), firstSteps)], "\n")},
		"\n")
}

// Source is a range of messages that a version rests on, both ends included.
type Source struct {
	Conversation int64 `json:"conversation"`
	From         int   `json:"from"`
	To           int   `json:"to"`
}

// Ranges groups sorted sequence numbers into sources.
func Ranges(conversation int64, seqs []int) []Source {
	var out []Source
	for _, s := range seqs {
		if n := len(out); n > 0 && out[n-1].To+1 == s {
			out[n-1].To = s
			continue
		}
		out = append(out, Source{Conversation: conversation, From: s, To: s})
	}
	return out
}
