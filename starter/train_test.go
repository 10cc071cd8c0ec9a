package main

import (
	"strings"
	"testing"
)

func TestTheRewardCurveHasAPointForEachIteration(t *testing.T) {
	t.Parallel()
	for _, rewards := range [][]float64{nil, {0.5}, {0, 0.25, 1}} {
		svg := string(rewardCurve(rewards))
		_, points, _ := strings.Cut(svg, `points="`)
		points, _, _ = strings.Cut(points, `"`)
		if n := len(strings.Fields(points)); n != len(rewards) || !strings.HasPrefix(svg, "<svg ") {
			t.Errorf("%v: %d points", rewards, n)
		}
	}
	if up := string(rewardCurve([]float64{0, 1})); !strings.Contains(up, `points="40.0,360.0 680.0,40.0"`) {
		t.Error(up)
	}
}

func TestTheBarIsFullAtTheEnd(t *testing.T) {
	t.Parallel()
	if bar(0, 10) != "["+strings.Repeat(".", barWidth)+"]" || bar(10, 10) != "["+strings.Repeat("#", barWidth)+"]" || bar(0, 0) == "" {
		t.Errorf("%s %s", bar(0, 10), bar(10, 10))
	}
}
