package memorywrite

// RollbackArgs selects a version to roll back to.
type RollbackArgs struct {
	Version  int  `json:"version"`
	Expected *int `json:"expected_version,omitempty"` // required current version; nil for any
}

// Actions of a write.
const (
	Added     = "added"
	Replaced  = "replaced"
	Removed   = "removed"
	Applied   = "applied" // batch
	Unchanged = "unchanged"
	Staged    = "staged" // needs approval
)

// QueryRunes is the maximum length of a search query, in runes.
const QueryRunes = 1000
