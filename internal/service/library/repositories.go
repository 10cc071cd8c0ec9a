package library

import (
	"context"

	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
)

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
