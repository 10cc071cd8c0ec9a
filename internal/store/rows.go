package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// storable replaces what a text column cannot hold, the character NUL, which
// JSON may well smuggle into a message or a reply.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// oneRow turns a write that touched no row, which row-level security does
// silently, into an error.
func oneRow(doing string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n != 1 {
		return fmt.Errorf("%s: %d rows changed, not 1", doing, n)
	}
	return nil
}
