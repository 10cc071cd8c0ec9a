// Package schemas holds what the store and the models are shaped by: SQL
// migrations and named queries, and the JSON Schemas of what models return.
package schemas

import "embed"

// Migrations are goose files, forward only, run as cairn_owner.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Roles makes the five database roles, the schema and the extension. It runs
// before the migrations, as whoever may create roles, and is safe to run again.
//
//go:embed roles.sql
var Roles string
