package paging_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/paging"
)

func TestCursorsAreReadAsTheyWereMade(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC)
	before, id, rows, err := paging.Time(paging.ByTime(at, "a|b"), 50)
	if err != nil || !before.Equal(at) || id != "a|b" || rows != 51 {
		t.Errorf("%v, %s, %d, %v", before, id, rows, err)
	}
	n, rows, err := paging.Number(paging.ByNumber(7), 1000)
	if err != nil || n != 7 || rows != 1001 {
		t.Errorf("%d, %d, %v", n, rows, err)
	}
	if before, id, rows, err := paging.Time("", 1); err != nil || !before.IsZero() || id != "" || rows != 2 {
		t.Errorf("the first page: %v, %s, %d, %v", before, id, rows, err)
	}
}

func TestOtherCursorsAreInvalid(t *testing.T) {
	t.Parallel()
	far := paging.Cursor(strconv.FormatInt(math.MaxInt64, 10), "run_1")
	for _, cursor := range []string{"x", "!", paging.Cursor("1"), paging.Cursor("x", "run_1"), far} {
		if _, _, _, err := paging.Time(cursor, 50); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s as a time: %v", cursor, err)
		}
	}
	for _, cursor := range []string{"x", paging.ByNumber(0), paging.ByNumber(-1), paging.Cursor("99999999999999999999"),
		far} {
		if _, _, err := paging.Number(cursor, 50); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s as a number: %v", cursor, err)
		}
	}
	for _, limit := range []int{-1, 0, 1001} {
		if _, err := paging.Rows(limit); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestAPageIsCut(t *testing.T) {
	t.Parallel()
	page, next := paging.Cut([]int{1, 2, 3}, 2, paging.ByNumber[int])
	if len(page) != 2 || next != paging.ByNumber(2) {
		t.Errorf("%v, %s", page, next)
	}
	if page, next = paging.Cut([]int{1, 2}, 2, paging.ByNumber[int]); len(page) != 2 || next != "" {
		t.Errorf("the last page: %v, %s", page, next)
	}
}
