package memory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

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
	Restored  = "restored"
	Staged    = "staged" // needs approval
)

// QueryRunes is the maximum length of a search query, in runes.
const QueryRunes = 1000

// CheckQuery returns fault.InvalidArgument for a query that is blank or longer than QueryRunes.
func CheckQuery(query string) error {
	const hint = `use a few search words, such as "favorite food"`
	if strings.TrimSpace(query) == "" {
		return fault.New(fault.InvalidArgument, "the query is empty", hint)
	}
	if n := utf8.RuneCountInString(query); n > QueryRunes {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("the query has %d characters, at most %d are allowed", n, QueryRunes), hint)
	}
	return nil
}
