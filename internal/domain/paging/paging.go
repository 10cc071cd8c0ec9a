// Package paging cuts lists into pages. A cursor is opaque to callers: it holds the key of the last row of a page, so
// that pages stay right when rows are added.
package paging

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Most is the maximum number of rows of a page.
const Most = 1000

// Rows returns the number of rows to read for a page of limit rows: one more shows that another page follows.
func Rows(limit int) (int, error) {
	if limit < 1 || limit > Most {
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid limit %d", limit),
			fmt.Sprintf("use 1 to %d", Most))
	}
	return limit + 1, nil
}

// Cut removes the additional row of a page, and returns the cursor of the next page, empty on the last one.
func Cut[T any](rows []T, limit int, cursor func(last T) string) (page []T, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], cursor(rows[limit-1])
}

// Cursor returns the cursor of a key with several parts. Only the last one may contain "|".
func Cursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "|")))
}

// Key returns the n parts of a key. A cursor of another form is invalid.
func Key(cursor string, n int) ([]string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	out := strings.SplitN(string(raw), "|", n)
	if err != nil || len(out) != n {
		return nil, invalid()
	}
	return out, nil
}

// Integer returns a part of a key that is an integer.
func Integer(part string) (int64, error) {
	n, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return 0, invalid()
	}
	return n, nil
}

func invalid() error {
	return fault.New(fault.InvalidArgument, "invalid cursor",
		"send next_cursor of the previous page unchanged, or no cursor for the first page")
}

// ByNumber returns the cursor of a key that is a positive number.
func ByNumber[N int | int64](n N) string { return Cursor(strconv.FormatInt(int64(n), 10)) }

// Number reads a cursor of [ByNumber] and a limit. The number is 0 on the first page.
func Number(cursor string, limit int) (before int64, rows int, err error) {
	if rows, err = Rows(limit); err != nil || cursor == "" {
		return 0, rows, err
	}
	key, err := Key(cursor, 1)
	if err != nil {
		return 0, 0, err
	}
	if before, err = Integer(key[0]); err == nil && before < 1 {
		err = invalid()
	}
	return before, rows, err
}

// ByTime returns the cursor of a key that is a time, in microseconds as in Postgres, and an ID.
func ByTime(at time.Time, id string) string { return Cursor(strconv.FormatInt(at.UnixMicro(), 10), id) }

// Time reads a cursor of [ByTime] and a limit. The time is zero on the first page.
func Time(cursor string, limit int) (before time.Time, id string, rows int, err error) {
	if rows, err = Rows(limit); err != nil || cursor == "" {
		return before, "", rows, err
	}
	key, err := Key(cursor, 2)
	if err != nil {
		return before, "", 0, err
	}
	before, err = Moment(key[0])
	return before, key[1], rows, err
}

// Moment returns a part of a key that is a time in microseconds, of the years 1 to 9999.
func Moment(part string) (time.Time, error) {
	micros, err := Integer(part)
	at := time.UnixMicro(micros).UTC()
	if err == nil && (at.Year() < 1 || at.Year() > 9999) {
		err = invalid()
	}
	return at, err
}
