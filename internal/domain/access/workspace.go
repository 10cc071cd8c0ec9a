package access

// Workspace is the tenant that owns all rows. Workflow IDs and search attributes contain its opaque
// Key instead of its name, which must stay private.
type Workspace struct {
	ID   int64
	Name string
	Key  string
}
