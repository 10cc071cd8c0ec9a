package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/skill"
)

// storable replaces what a text column cannot store: invalid UTF-8, and the NUL character, which
// JSON messages and replies may contain.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// texts returns a non-nil array, because SQL does not accept a nil one here.
func texts(in []string) []string {
	out := make([]string, len(in))
	for i, text := range in {
		out[i] = storable(text)
	}
	return out
}

// narrow converts a number of a caller, such as a version, to the type of its column. A number that
// does not fit becomes the nearest one, which no row has.
func narrow(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// encode returns JSON that a jsonb column accepts: without NUL, which JSON represents as an escape.
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
		i++ // skips the escaped character: a second backslash does not start an escape
	}
	return raw, nil
}

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// oneRow returns an error if a write changed no row. Row-level security causes this without an
// error.
func oneRow(doing string, n int64, err error) error { return someRows(doing, n, 1, err) }

// someRows is oneRow for a write that must change want rows.
func someRows(doing string, n, want int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n != want {
		return fmt.Errorf("%s: %d rows changed, want %d", doing, n, want)
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
