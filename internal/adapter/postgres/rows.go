package postgres

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/skill"
)

// storable replaces what a text column cannot hold: bytes that are no UTF-8, and
// the character NUL, which JSON may well smuggle into a message or a reply.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// texts makes an array that SQL can hold, empty for nil.
func texts(in []string) []string {
	out := make([]string, len(in))
	for i, text := range in {
		out[i] = storable(text)
	}
	return out
}

// encode makes JSON that a jsonb column can hold: without NUL, which stands in
// it as an escape.
func encode(what string, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(raw[i:], []byte(`\u0000`)) {
			copy(raw[i:], `\ufffd`)
		}
		i++ // past what is escaped: a second backslash begins nothing
	}
	return raw, nil
}

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// oneRow turns a write that touched no row, which row-level security does
// silently, into an error.
func oneRow(doing string, n int64, err error) error { return someRows(doing, n, 1, err) }

// someRows is oneRow for a write that must touch so many rows.
func someRows(doing string, n, want int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n != want {
		return fmt.Errorf("%s: %d rows changed, not %d", doing, n, want)
	}
	return nil
}

func encodeQuality(quality *skill.Quality) ([]byte, error) {
	if quality == nil {
		return nil, nil
	}
	return encode("the quality", quality)
}

func decodeQuality(raw []byte) (*skill.Quality, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	out := new(skill.Quality)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode the quality: %w", err)
	}
	return out, nil
}
