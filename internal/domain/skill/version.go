package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/approval"
)

// Status is the status of a skill. Active, candidate and draft skills are listed. Only active
// skills are found by search.
type Status string

const (
	Candidate   Status = "candidate" // needs approval
	DraftStatus Status = "draft"     // its score is too low; a better version or an approval activates it
	Active      Status = "active"
	Stale       Status = "stale"
	Archived    Status = "archived" // keeps its name
	Quarantined Status = "quarantined"
)

// Statuses lists all of them.
func Statuses() []Status {
	return []Status{Candidate, DraftStatus, Active, Stale, Archived, Quarantined}
}

// Head is a skill as lists show it: its names and its active version.
type Head struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`               // canonical name
	Category    string    `json:"category,omitempty"` // lists are grouped by it; may be empty
	Status      Status    `json:"status"`
	Version     int       `json:"version"`
	Pinned      bool      `json:"pinned,omitempty"`
	Managed     bool      `json:"managed,omitempty"` // background runs may change it
	Tainted     bool      `json:"tainted,omitempty"` // contains untrusted text
	Origin      string    `json:"origin"`
	Description string    `json:"description"`
	Lang        string    `json:"lang"`
	Degraded    []string  `json:"degraded,omitempty"`
	PackageKey  string    `json:"package_key"`
	Eta         float32   `json:"eta"` // reliability, 0–1
	Uses        int64     `json:"uses"`
	Impressions int64     `json:"impressions"` // searches that listed it
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// SHA is a SHA-256, encoded as hexadecimal digits.
type SHA [sha256.Size]byte

// MarshalText encodes the digits.
func (h SHA) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText decodes the digits.
func (h *SHA) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("invalid SHA-256: it must have %d digits, got %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Operations that create a version.
const (
	OpCreate   = "create"
	OpUpdate   = "update"
	OpPatch    = "patch"
	OpRename   = "rename" // the body is unchanged
	OpRollback = "rollback"
)

// Version is one complete, immutable state of a skill.
type Version struct {
	SkillID       int64
	Name          string // canonical name
	Number        int    // from 1
	Base          int    // version that it was derived from, 0 for a new skill
	DisplayName   string
	Description   string
	Category      string // may be empty
	Body          string // Markdown after the front matter
	Lang          string
	Files         []File
	ContentSHA    SHA
	PackageSHA    SHA
	PackageKey    string
	Run           string // "" if no run created it
	TaskKey       string
	Origin        string
	Op            string // operation that created it: OpCreate … OpRollback
	Tainted       bool   // contains untrusted text
	ChangeSummary string
	Model         string
	PromptSHA     string
	Degraded      []string
	Violations    []string
	Risk          []string           // findings of the scan, without their text
	Findings      []approval.Finding // of the checks before it took effect
	Redactions    int                // secrets that were removed before the model call
	Quality       *Quality           // nil without a judgment
	Extra         []Extra            // other files of its package
	Restores      int                // for a rollback: the restored version
	Sources       []Source
	CreatedAt     time.Time
}

// Document parses the version's fields from its body.
func (v Version) Document() Document {
	d := ParseBody(v.Body)
	d.Name, d.Description = v.DisplayName, v.Description
	return d
}

// Pack renders and zips the version with the other files of its package, and sets the package's
// hash and key. Equal content gives equal packages, regardless of the number.
func (v *Version) Pack(workspace int64, style string, extra ...File) (archive, markdown []byte, err error) {
	markdown = Compose(v.Name, v.Description, []byte(v.Body), RenderOptions{NameStyle: style})
	if archive, err = Zip(Folder(v.Name, style), markdown, v.Files, extra...); err != nil {
		return nil, nil, err
	}
	v.Packed(workspace, archive, style)
	return archive, markdown, nil
}

// Packed sets the hash and the key of a package of the version.
func (v *Version) Packed(workspace int64, archive []byte, style string) {
	v.PackageSHA = sha256.Sum256(archive)
	folder := Folder(v.Name, style)
	v.PackageKey = fmt.Sprintf("%s/%s/%x/%s.zip", PackageFolder(workspace), folder, v.PackageSHA[:6], folder)
}

// PackageFolder returns the folder of a workspace's packages in the object store.
func PackageFolder(workspace int64) string { return fmt.Sprint(workspace) }

// SearchText returns the text that is indexed and embedded for the version.
func (v Version) SearchText() string { return v.Document().SearchText() }

// firstSteps is the number of lines of the procedure in SearchText.
const firstSteps = 5

// SearchText returns name, description, when to use it, and the first lines of the procedure.
func (d Document) SearchText() string {
	steps := strings.SplitN(d.Procedure, "\n", firstSteps+1)
	when := strings.TrimSpace(strings.Join(d.Triggers(), ", ") + "\n" + ParseWhen(d.WhenToUse).Text)
	return strings.Join([]string{d.Name, d.Description, when, strings.Join(steps[:min(len(steps), firstSteps)], "\n")},
		"\n")
}

// Source is a range of messages that is evidence for a version, both ends included.
type Source struct {
	Conversation int64 `json:"conversation"`
	From         int   `json:"from"`
	To           int   `json:"to"`
}

// Ranges groups sorted sequence numbers to sources.
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
