package store

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/pressly/goose/v3"

	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
	"cairn/schemas"
)

// Schema contains the version of the database's schema and that of this program.
type Schema struct {
	Version int64 `json:"version" doc:"Schema version of the database"`
	Program int64 `json:"program" doc:"Schema version that this program was built for"`
}

// Schema reads the schema's version, as the role that serves requests.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	out := Schema{Program: programSchema()}
	var version int64
	err := s.asApp(ctx, func(q *dbsqlc.Queries) (err error) {
		version, err = q.SchemaVersion(ctx)
		return err
	})
	if err != nil {
		return out, classify("read the schema's version", err)
	}
	out.Version = version
	return out, nil
}

// Check returns Misconfigured if the schema is older than this program needs.
func (v Schema) Check() error {
	if v.Version < v.Program {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the database has schema version %d, but this program needs %d", v.Version, v.Program),
			"run `cairn migrate` with this program's version")
	}
	return nil
}

// programSchema returns the number of the last migration: the schema version that this program is
// built for.
var programSchema = sync.OnceValue(func() int64 {
	names, err := fs.Glob(schemas.Migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("no migrations are embedded: %v", err))
	}
	last, err := goose.NumericComponent(path.Base(slices.Max(names)))
	if err != nil {
		panic(fmt.Sprintf("%s has no number: %v", slices.Max(names), err))
	}
	return last
})
