// Package library keeps a workspace's skills after they were made: history,
// differences, rollback, archive, approval, import, use. Heads move by
// compare-and-swap only; what arrives from outside, or looks risky, waits for
// approval and changes nothing until then.
//
// Save, Browse, View, Patch and Delete are what agents do with skills, each for an
// actor whose origin decides what it may:
//
//	saved, err := l.Save(ctx, actor, library.SaveArgs{Name: "deploy-web", …})
//	// {Action: "created", Version: 1}, or "staged" when a person is to decide
//	out, err := l.Patch(ctx, actor, library.PatchArgs{Name: "deploy-web", OldString: "r41", NewString: "r42"})
//
// Index is the list of skills that a prompt carries.
package library

import (
	"context"
	"time"

	"cairn/internal/domain/ports"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
)

// Store opens transactions.
type Store interface {
	WithLibrary(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Blobs keeps packages.
type Blobs interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	Locate(key string) string
}

// Ports are what the library works with.
type Ports struct {
	Store     Store
	Embedder  Embedder
	Space     int16
	Blobs     Blobs
	NameStyle string // of the packages that it renders
	Finder    Finder // answers lists that ask for something

	KeepVersions int // of each skill, beside those still needed; 0 keeps all
	// Settings are a workspace's; nil means DefaultSettings for all.
	Settings func(ctx context.Context, ws int64) (Settings, error)
}

// Library is the use-case.
type Library struct{ Ports }

// New makes the library. A required port that is nil is an error.
func New(p Ports) (*Library, error) {
	err := ports.Require("library", map[string]any{"Store": p.Store, "Embedder": p.Embedder, "Blobs": p.Blobs,
		"Finder": p.Finder})
	if err != nil {
		return nil, err
	}
	return &Library{Ports: p}, nil
}

// Finder finds the skills of some states that answer a text, the best first.
type Finder interface {
	SkillsThatAre(ctx context.Context, ws int64, text string, states []skill.Status, limit int) ([]search.Found, error)
}

// VersionInfo is a version as a history lists it.
type VersionInfo struct {
	Number        int            `json:"version"`
	Base          int            `json:"base_version"`
	Description   string         `json:"description"`
	Category      string         `json:"category,omitempty"`
	Origin        string         `json:"origin"`
	Op            string         `json:"op"`
	ChangeSummary string         `json:"change_summary"`
	Model         string         `json:"model,omitempty"`
	Run           int64          `json:"run,omitempty"`
	Degraded      []string       `json:"degraded,omitempty"`
	Violations    []string       `json:"violations,omitempty"`
	Risk          []string       `json:"risk,omitempty"`
	Quality       *skill.Quality `json:"quality,omitempty"`
	PackageKey    string         `json:"package_key"`
	PackageBytes  int            `json:"package_bytes"`
	CreatedAt     time.Time      `json:"created_at"`
}

// What a pending change would do beside making a version.
const (
	OpArchive = "archive"
	OpDelete  = "delete"
)

// Pending is a change that waits for approval.
type Pending struct {
	ID           int64         `json:"id"`
	Skill        int64         `json:"skill_id"`
	Name         string        `json:"name"`
	Base         int           `json:"base_version"`
	Version      skill.Version `json:"version"`
	Op           string        `json:"op"`   // how the version came about, or OpArchive, OpDelete
	Gist         string        `json:"gist"` // one line
	Reason       string        `json:"reason"`
	Origin       string        `json:"origin"`
	AbsorbedInto int64         `json:"absorbed_into,omitempty"` // of OpArchive and OpDelete
	// pending; or expired, which nobody can approve any more
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Use is one use of a skill. ID is the caller's: the same use counts once.
type Use struct {
	Skill   int64
	ID      string
	Version int
	Outcome string // "", pass or fail; a later call may add it
}

// Head finds a skill by its number or, when id is 0, by its name.
func Head(ctx context.Context, tx Tx, id int64, name string) (skill.Head, error) {
	if id != 0 {
		return tx.Skills().SkillHead(ctx, id)
	}
	head, err := tx.Skills().SkillNamed(ctx, skill.Canonical(name))
	if err != nil {
		return head, err
	}
	return tx.Skills().SkillHead(ctx, head.ID)
}

// History lists the versions of a skill, the latest first.
func (l *Library) History(ctx context.Context, ws, id int64, max int) (out []VersionInfo, err error) {
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Skills().SkillHead(ctx, id); err != nil {
			return err
		}
		out, err = tx.Versions().Versions(ctx, id, max)
		return err
	})
	return out, err
}

// RecordUse counts a use of a skill, once for each caller's id.
func (l *Library) RecordUse(ctx context.Context, ws int64, u Use) error {
	return l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error { return tx.States().Use(ctx, u) })
}

// embed returns nil when the embedder is down: the vector follows later.
func (l *Library) embed(ctx context.Context, text string) []float32 {
	vs, err := l.Embedder.Embed(ctx, []string{text})
	if err != nil || len(vs) != 1 {
		return nil
	}
	return vs[0]
}
