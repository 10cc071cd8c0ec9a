package memory

import (
	"fmt"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/metrics"
)

// shortID is the number of characters of an ID that a placeholder shows.
const shortID = 8

// Sanitize prepares the text of a stored row for a prompt, because some rows are written without a
// scan. It replaces secrets and dangerous text with a placeholder. The row does not change.
func Sanitize(store, id, text string) string {
	if found := guard.Secrets(text); len(found) > 0 {
		metrics.Blocked(store)
		return fmt.Sprintf("[blocked: %s entry %s, %s]", store, id[:min(len(id), shortID)], found[0].ID)
	}
	safe, finding := guard.Sanitize(store, id, text)
	if finding != nil {
		metrics.Blocked(store)
	}
	return safe
}
