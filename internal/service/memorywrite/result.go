package memorywrite

// RollbackArgs name a version to go back to.
type RollbackArgs struct {
	Version  int  `json:"version"`
	Expected *int `json:"expected_version,omitempty"` // that is to be in force; nil for any
}

// What became of a write.
const (
	Added     = "added"
	Replaced  = "replaced"
	Removed   = "removed"
	Applied   = "applied" // a batch
	Unchanged = "unchanged"
	Staged    = "staged" // waits for a person
)

// QueryRunes is how long the query of a search may be.
const QueryRunes = 1000
