// Package schemas embeds the SQL migrations and queries of the store, and the JSON Schemas of model
// replies.
package schemas

import "embed"

// Migrations contains the goose migrations. They are forward only and run as cairn_owner.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Roles creates the five database roles, the schema and the extension. It runs before the
// migrations, with a login that can create roles, and is safe to repeat.
//
//go:embed roles.sql
var Roles string
