package apiclient_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/adapter/channel/apiclient"
)

func TestAMemoAsksAgainAfterAnHourAndAfterAMinuteForAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, asked := apiclient.NewMemo(), 0
		get := func(key string, err error) string {
			return m.Get(key, func() (string, error) { asked++; return fmt.Sprint(asked), err })
		}
		wants := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		wants(get("known", nil), "1")
		wants(get("failed", errors.New("busy")), "")
		time.Sleep(59 * time.Second)
		wants(get("known", nil), "1")
		wants(get("failed", nil), "")
		time.Sleep(time.Second)
		wants(get("failed", nil), "3")
		time.Sleep(time.Hour)
		wants(get("known", nil), "4")
		m.Put("put", "x", 2*time.Hour)
		time.Sleep(time.Hour)
		wants(get("put", nil), "x")
	})
}

func TestAMemoForgetsWhatWasUsedLeast(t *testing.T) {
	t.Parallel()
	m := apiclient.NewMemo()
	m.Put("old", "x", time.Hour)
	m.Put("used", "y", time.Hour)
	for i := range 9_999 {
		m.Put(fmt.Sprint(i), "", time.Hour)
		m.Get("used", nil)
	}
	if got := m.Get("old", func() (string, error) { return "asked", nil }); got != "asked" {
		t.Errorf("the result used least is still %q", got)
	}
}
