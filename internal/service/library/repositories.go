package library

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/index"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// Tx accesses the skills of one workspace in one transaction.
type Tx interface {
	Skills() SkillRepository
	Versions() VersionRepository
	States() StateRepository
	Pending() PendingRepository
	Packages() PackageRepository
	Uses() UseRepository
	Deleted() DeletedRepository
	Operations() OperationRepository
}

// SkillRepository reads and writes skills.
type SkillRepository interface {
	SkillHead(ctx context.Context, id int64) (skill.Head, error)
	SkillNamed(ctx context.Context, name string) (skill.Head, error)
	Skills(ctx context.Context, l skill.Listing) ([]skill.Head, error)
	Categories(ctx context.Context, statuses []skill.Status) ([]skill.CategoryCount, error)
	SkillNames(ctx context.Context) ([]skill.Head, error)
	SkillsOfBody(ctx context.Context, sha [32]byte) ([]string, error)
	Offered(ctx context.Context) ([]skill.IndexEntry, error)
	Search(ctx context.Context, q index.Query) ([]index.Hit, error)
}

// VersionRepository reads and writes versions of skills.
type VersionRepository interface {
	LockSkills(ctx context.Context) error
	SkillCount(ctx context.Context) (int, error)
	Version(ctx context.Context, id int64, number int) (skill.Version, error)
	Versions(ctx context.Context, id int64, max int) ([]skill.VersionInfo, error)
	CreateSkill(ctx context.Context, v skill.Version, status skill.Status, d index.Doc, vector []float32,
		space int16) (int64, error)
	AdvanceSkill(ctx context.Context, id int64, base int, v skill.Version, d index.Doc, vector []float32,
		space int16) (number int, err error)
	PruneVersions(ctx context.Context, id int64, keep int) error
}

// StateRepository reads and writes the states of skills.
type StateRepository interface {
	SetStatus(ctx context.Context, id int64, was, status skill.Status) error
	SetPinned(ctx context.Context, id int64, pinned bool) error
	SetManaged(ctx context.Context, id int64, managed bool) error
	SetTainted(ctx context.Context, id int64, tainted bool) error
	Use(ctx context.Context, u skill.Use) error
	Listed(ctx context.Context, ids []int64) error    // counts impressions
	DecideUse(ctx context.Context, u skill.Use) error // sets, changes or removes the outcome of a recorded use
}

// PendingRepository reads and writes pending changes.
type PendingRepository interface {
	PutPending(ctx context.Context, p skill.Pending) (int64, error)
	Pending(ctx context.Context, id int64) (skill.Pending, error)
	PendingList(ctx context.Context, max int) ([]skill.Pending, error)
	Decide(ctx context.Context, id int64, state string) error
	Canary(ctx context.Context, skill int64) (p skill.Pending, found bool, err error) // of the version in force
	EndCanary(ctx context.Context, id int64) error
	CanaryTrials(ctx context.Context, p skill.Pending, max int) (review.Canary, error)
	AdoptCanary(ctx context.Context, skill, change int64, version int) error // counts its uses as those of a version
}

// PackageRepository reads and writes packages.
type PackageRepository interface {
	TouchPackage(ctx context.Context, sha [32]byte, key string, bytes int) error
	PublishPackage(ctx context.Context, sha [32]byte) error
}

// UseRepository reads and writes views, uses and references of skills.
type UseRepository interface {
	RecentWrites(ctx context.Context, tools, autonomous []string) (skill.Writes, error)
	PutView(ctx context.Context, run string, skill int64, version int) error
	LastView(ctx context.Context, run string, skill int64) (version int, err error)
	TasksNaming(ctx context.Context, skill string) ([]string, error) // scheduled tasks whose prompts contain its name
	// PutStatement returns at most max uses of skills in the conversation, and how it ended by the
	// statements of all people.
	PutStatement(ctx context.Context, conversation string, s transcript.Statement, max int) ([]skill.Use,
		transcript.Verdict,
		error)
	UsesOfRun(ctx context.Context, run string, max int) ([]skill.Use, error)
	Trials(ctx context.Context, skill int64, max int) ([]review.Trial, error) // the latest first
}

// DeletedRepository reads and writes deleted skills.
type DeletedRepository interface {
	SetAbsorbed(ctx context.Context, id, into int64) error
	DeleteSkill(ctx context.Context, id, absorbedInto int64, window time.Duration) (undoUntil time.Time, err error)
	Deleted(ctx context.Context, id int64, name string, window time.Duration) (skill.Head, error)
	Undelete(ctx context.Context, id int64, status skill.Status) error
	RevokeSessions(ctx context.Context) (int, error) // live sessions are rendered again
}

// OperationRepository reads and writes the operation log, and records acts.
type OperationRepository interface {
	audit.Recorder
	Once(ctx context.Context, op string, args any, effect func() (json.RawMessage, error)) (json.RawMessage, error)
	Logged(ctx context.Context, op string, args any) (result json.RawMessage, done bool, err error)
}
