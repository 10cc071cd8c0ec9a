package findbench

import (
	"fmt"

	"cairn/internal/service/evaluation"
)

// Plot returns an SVG chart of the search time by workspace size with logarithmic axes: one
// line per number of dimensions for Cairn and for exact search, and for the graph where
// measured.
func Plot(rows []Row) string {
	var lines []evaluation.Line
	add := func(name string, x, y float64) {
		for i := range lines {
			if lines[i].Name == name {
				lines[i].Points = append(lines[i].Points, evaluation.Point{X: x, Y: y})
				return
			}
		}
		lines = append(lines, evaluation.Line{Name: name, Points: []evaluation.Point{{X: x, Y: y}}})
	}
	for _, r := range rows {
		if r.Workspaces > 1 {
			continue
		}
		x := float64(r.Memories)
		if r.Graph {
			add(fmt.Sprintf("hybrid with graph, %d dimensions", r.Dims), x, r.P50)
		} else {
			add(fmt.Sprintf("hybrid, %d dimensions", r.Dims), x, r.P50)
			add(fmt.Sprintf("bare exact, %d dimensions", r.Dims), x, r.BareP50)
		}
	}
	return string(evaluation.SVG(evaluation.Chart{Title: "p50 in ms over memories in the workspace, both logarithmic",
		Lines: lines, LogX: true, LogY: true, Values: true}))
}
