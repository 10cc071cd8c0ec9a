// Package tenancy names the tenants of a Cairn.
package tenancy

// Workspace is the tenant that owns all rows. Key stands for it in workflow ids and
// search attributes, where its name must not be seen.
type Workspace struct {
	ID   int64
	Name string
	Key  string
}
