package evaluation_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"cairn/internal/service/evaluation"
	"cairn/internal/testkit"
)

func TestAChartIsXMLWithAPlaceForEachPoint(t *testing.T) {
	t.Parallel()
	svg := string(evaluation.SVG(
		evaluation.Chart{Title: "time", LogX: true, LogY: true, Values: true, Lines: []evaluation.Line{
			{Name: "a", Points: []evaluation.Point{{X: 1000, Y: 1}, {X: 10_000, Y: 10}, {X: 100_000, Y: 100}}},
			{Name: "b", Points: []evaluation.Point{{X: 1000, Y: 5}}}}},
		evaluation.Chart{Title: "share", High: 1, Lines: []evaluation.Line{{Points: []evaluation.Point{{X: 0, Y: 0},
			{X: 1, Y: 1}}}}},
		evaluation.Chart{Title: "nothing"}))
	in := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		testkit.Must(t, err)
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Count(svg, "<circle") != 4 {
		t.Errorf("bad numbers, or not four points: %s", svg)
	}
	// The middle of a logarithmic axis is the power in the middle.
	if !strings.Contains(svg, `cx="360.0" cy="200.0"`) {
		t.Errorf("10,000 of 1,000 to 100,000 is not in the middle: %s", svg)
	}
}
