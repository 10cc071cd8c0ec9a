package speed_test

import (
	"testing"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/bench/speed"
	"cairn/internal/testkit"
)

// `make bench-search` runs the full benchmark. Times on a busy machine are not reliable, so
// this test checks counts only.
func TestASkillIsFoundByItsName(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	row, err := speed.MeasureSearch(t.Context(), b.App, b.App.Config.DatabaseURL, 60, 1)
	testkit.Must(t, err)
	if row.Skills != 60 || row.OursP50 <= 0 || row.BareP50 <= 0 {
		t.Errorf("nothing was measured: %+v", row)
	}
	if row.FoundOwn < 0.5 {
		t.Errorf("a skill comes first in %.2f of the searches for it", row.FoundOwn)
	}
}
