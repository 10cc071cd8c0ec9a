// Package library manages the skills of a workspace: history, diffs, rollback, archive, approval,
// import and use. Heads change only by compare-and-swap. Imported or risky changes need approval
// and have no effect until then.
//
// Save, Browse, View, Patch and Delete are the skill tools of agents. The origin of the actor
// decides what is allowed:
//
//	saved, err := l.Save(ctx, actor, library.SaveArgs{Name: "deploy-web", …})
//	// saved: {Action: "created", Version: 1}, or "staged" if approval is needed
//	out, err := l.Patch(ctx, actor, library.PatchArgs{Name: "deploy-web", OldString: "r41", NewString: "r42"})
//
// Index is the list of skills in a prompt.
package library

import (
	"context"
	"strconv"

	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Blobs stores packages.
type Blobs interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	Locate(key string) string
}

// Ports are the dependencies of the library.
type Ports struct {
	Store     *store.Store
	Embedder  search.Embedder
	Space     int16
	Spaces    search.Spaces // nil if Embedder and Space serve all workspaces
	Blobs     Blobs
	NameStyle string        // of rendered packages
	Finder    search.Finder // searches skills

	KeepVersions int // versions per skill, plus those still in use; 0 keeps all
	// Settings returns the settings of a workspace. If nil, all use DefaultSettings.
	Settings func(ctx context.Context, ws int64) (Settings, error)
}

// Library manages skills.
type Library struct{ Ports }

// New returns a Library.
func New(p Ports) *Library {
	return &Library{Ports: p}
}

// Operations of a pending change other than a new version.
const (
	OpArchive = "archive"
	OpDelete  = "delete"
)

// Head finds a skill by ID or, if id is 0, by name.
func Head(ctx context.Context, tx store.Tx, id int64, name string) (skill.Head, error) {
	if id != 0 {
		return tx.Skills().SkillHead(ctx, id)
	}
	head, err := tx.Skills().SkillNamed(ctx, skill.Canonical(name))
	if err != nil {
		return head, err
	}
	return tx.Skills().SkillHead(ctx, head.ID)
}

// Find returns a skill by its ID or name with one of its versions; 0 means the active one.
func (l *Library) Find(ctx context.Context, ws int64, ref string, number int) (head skill.Head, v skill.Version,
	err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		id, _ := strconv.ParseInt(ref, 10, 64) // not a number: a name
		if head, err = Head(ctx, tx, id, ref); err != nil {
			return err
		}
		if number == 0 {
			number = head.Version
		}
		v, err = tx.Skills().Version(ctx, head.ID, number)
		return err
	})
	return head, v, err
}

// Number returns the ID of the skill with a name.
func (l *Library) Number(ctx context.Context, ws int64, name string) (id int64, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := Head(ctx, tx, 0, name)
		id = head.ID
		return err
	})
	return id, err
}

// History returns the versions of a skill, latest first.
func (l *Library) History(ctx context.Context, ws, id int64, max int) (out []skill.VersionInfo, err error) {
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.Skills().SkillHead(ctx, id); err != nil {
			return err
		}
		out, err = tx.Skills().Versions(ctx, id, max)
		return err
	})
	return out, err
}

// embed returns no values if the embedder is unavailable; the relay adds the vector later.
func (l *Library) embed(ctx context.Context, ws int64, text string) search.Vector {
	return search.VectorOf(ctx, search.SpacesOr(l.Spaces, search.Space{ID: l.Space, Embedder: l.Embedder}), ws, text)
}
